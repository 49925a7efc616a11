import { addressOf, keepAlive, STATUS } from '@tenon/core/internal'
import { closeDescriptor, check, out, outAddress, sharing, nanoseconds } from '@tenon/pools/internal'

const { value: TIMED_OUT } = STATUS.TIMED_OUT
const REPORTED = 64

/** Descriptors to wait for. The cost of a wait does not depend on how many of them are idle. */
export class PollSet {
  /** Readable while one of the descriptors is ready. */
  readonly descriptor: number
  readonly #ready = new Int32Array(REPORTED)
  /** The number of ready descriptors: the lower half of a 64-bit number that is always small. */
  readonly #count = new Uint32Array(2)
  readonly #addresses = { ready: addressOf(this.#ready), count: addressOf(this.#count) }
  readonly #wait = sharing().tn_poll_wait

  constructor() {
    check(sharing().tn_poll_open(outAddress()), 'opening a set of descriptors', 'RESOURCE_EXHAUSTED_TRANSIENT')
    this.descriptor = out.i32[0]!
  }

  /** Adds a descriptor, which is ready when its peer is gone and, if `reads`, when it is readable. */
  add(descriptor: number, reads = true): void {
    check(sharing().tn_poll_add(this.descriptor, descriptor, reads ? 1 : 0), 'watching a descriptor')
  }

  /** Removes a descriptor, which must happen before it is closed. */
  remove(descriptor: number): void {
    check(sharing().tn_poll_remove(this.descriptor, descriptor), 'watching a descriptor')
  }

  /** Waits at most `timeout` ms, for ever if negative, and returns ready descriptors, at least one unless time is up. */
  wait(timeout: number): readonly number[] {
    const { ready, count } = this.#addresses
    const code = this.#wait(this.descriptor, nanoseconds(timeout), ready, REPORTED, count)
    if (code === TIMED_OUT) return []
    check(code, 'waiting for descriptors')
    keepAlive(this.#ready)
    return Array.from(this.#ready.subarray(0, this.#count[0]))
  }

  close(): void {
    closeDescriptor(this.descriptor)
  }
}
