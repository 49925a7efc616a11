import { addressOf, CONSTANTS, STATUS } from '@tenon/core/internal'
import { PoolsError } from '@tenon/pools'
import {
  DESCRIPTORS,
  check,
  failure,
  out,
  outAddress,
  sharing,
  type Attachment,
  nanoseconds,
} from '@tenon/pools/internal'
import { type Link, type MessageBuffer, messageBuffer, PeerGone } from './link.ts'

const { value: TIMED_OUT } = STATUS.TIMED_OUT
const { value: CLOSED } = STATUS.CLOSED

/** Wakes a peer that waits for a byte on a stream. A peer that has disconnected is noticed elsewhere. */
export function ring(stream: number): void {
  sharing().tn_channel_ring(stream)
}

/** Waits until a socket is readable, and returns those that are. `timeout` in milliseconds, negative for ever. */
export function pollSockets(sockets: readonly number[], timeout: number): readonly number[] {
  // One block for both arrays: because it is read after the call, it is not collected before.
  const count = sockets.length
  const memory = new ArrayBuffer(Math.max(5 * count, 1))
  const [list, ready] = [new Int32Array(memory, 0, count), new Uint8Array(memory, 4 * count, count)]
  list.set(sockets)
  const start = addressOf(memory)
  const code = sharing().tn_channel_poll(start, count, nanoseconds(timeout), start + 4 * count)
  if (code !== TIMED_OUT) check(code, 'waiting for sockets')
  return sockets.filter((_, i) => ready[i] === 1)
}

/** Ends a connection, or fails a fence, for every process that has it. */
export function shut(socket: number): void {
  check(sharing().tn_channel_shut(socket), 'ending a connection')
}

/** Ends this process as soon as the peer of a channel, which stays open, is gone, even during a kernel. */
export function exitWithPeer(channel: number): void {
  check(sharing().tn_channel_exit_with_peer(channel), 'watching a channel')
}

/** The most descriptors that this process can have open. */
export function descriptorLimit(): number {
  check(sharing().tn_descriptor_limit(outAddress()), 'reading the limit of descriptors')
  return Number(out.u64[0])
}

/** The state of a fence: see `tn_fence_status`. */
export type FenceStatus = 'active' | 'signaled' | 'failed'

/** Returns the state of a fence. @throws {PoolsError} `INVALID_ARGUMENT` if the descriptor is not a fence. */
export function fenceStatus(fence: number): FenceStatus {
  const code = sharing().tn_fence_status(fence, outAddress())
  if (code !== 0) throw failure('INVALID_ARGUMENT', 'examining a fence', code)
  const [state] = out.i32
  if (state === CONSTANTS.TN_FENCE_ACTIVE) return 'active'
  return state === CONSTANTS.TN_FENCE_SIGNALED ? 'signaled' : 'failed'
}

/** One end of a channel to another process, over which messages travel with descriptors. Its buffers are reused. */
export class Socket implements Link {
  readonly sent: MessageBuffer = messageBuffer()
  readonly received: MessageBuffer = messageBuffer()
  readonly #descriptors = new Int32Array(DESCRIPTORS)
  /** The number of received descriptors: the lower half of a 64-bit number that is always small. */
  readonly #count = new Uint32Array(2)
  readonly #addresses = {
    sent: addressOf(this.sent.bytes),
    received: addressOf(this.received.bytes),
    descriptors: addressOf(this.#descriptors),
    count: addressOf(this.#count),
  }
  readonly #send = sharing().tn_channel_send
  readonly #receive = sharing().tn_channel_receive
  #descriptor: number

  /** Takes the descriptor over. */
  constructor(descriptor: number) {
    this.#descriptor = descriptor
  }

  get descriptor(): number {
    return this.#descriptor
  }

  send(length: number, attachments: readonly Attachment[], timeout: number): void {
    this.#checkOpen()
    const descriptors = attachments.length === 0 ? NO_DESCRIPTORS : attachments.map(descriptorOf)
    if (descriptors.length > 0) this.#descriptors.set(descriptors)
    const { sent, descriptors: at } = this.#addresses
    const code = this.#send(this.#descriptor, sent, length, at, descriptors.length, nanoseconds(timeout))
    this.#settle(code, 'sending a message')
  }

  receive(timeout: number): readonly number[] | undefined {
    this.#checkOpen()
    const { received, descriptors, count } = this.#addresses
    const code = this.#receive(this.#descriptor, received, descriptors, count, nanoseconds(timeout))
    return code === TIMED_OUT ? undefined : this.#taken(code)
  }

  call(length: number, timeout: number): readonly number[] | undefined {
    this.send(length, NO_DESCRIPTORS, timeout)
    return this.receive(timeout)
  }

  /** Ends the connection for every process that has this end of it, and closes it. */
  shut(): void {
    if (this.#descriptor !== -1) shut(this.#descriptor)
    this.close()
  }

  close(): void {
    const descriptor = this.#descriptor
    this.#descriptor = -1
    if (descriptor !== -1) check(sharing().tn_descriptor_close(descriptor), 'closing a channel')
  }

  #taken(code: number): readonly number[] {
    this.#settle(code, 'receiving a message')
    const count = this.#count[0]!
    return count === 0 ? NO_DESCRIPTORS : Array.from(this.#descriptors.subarray(0, count))
  }

  #settle(code: number, what: string): void {
    if (code === 0) return
    if (code === CLOSED) throw new PeerGone('the peer has disconnected')
    throw failure(code === TIMED_OUT ? 'MISSED_DEADLINE_TRANSIENT' : 'GENERAL_FAILURE', what, code)
  }

  #checkOpen(): void {
    if (this.#descriptor === -1) throw new PeerGone('the channel is closed')
  }
}

/** The descriptors of a message without any. */
export const NO_DESCRIPTORS: readonly number[] = Object.freeze([])

/** @throws {PoolsError} for memory of this process, which cannot leave it. */
function descriptorOf(attachment: Attachment): number {
  if (typeof attachment === 'number') return attachment
  throw new PoolsError('INVALID_ARGUMENT', 'memory of this process can only be used by its own threads')
}
