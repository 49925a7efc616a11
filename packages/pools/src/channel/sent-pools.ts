import { exhausted } from '../engine/session.ts'
import { PoolsError } from '../error-status.ts'
import type { Pool } from '../pool/pool.ts'
import type { DriverChannel } from './driver-channel.ts'
import { operations } from './frame.ts'
import { poolMessage } from './pool-codec.ts'

/** A pool that the driver knows. */
interface Sent {
  readonly id: number
  /** Requests and models that use it. */
  uses: number
  /** The number of its last use: the smallest belongs to the pool that wasn't used for longest. */
  lastUse: number
}

/**
 * The pools that a driver knows: each is sent once, at first use, and named by its id afterwards. When there are more than the
 * driver takes, the one that wasn't used for longest is released.
 */
export class SentPools {
  readonly #channel: DriverChannel
  readonly #sent = new Map<Pool, Sent>()
  #byteSize = 0
  #lastId = 0
  #uses = 0
  /** Grows whenever an id ends. */
  generation = 0

  constructor(channel: DriverChannel) {
    this.#channel = channel
  }

  /** The id of a pool in messages; sends it first if need be. @throws {PoolsError} if it can't be sent. */
  idOf(pool: Pool): number {
    const known = this.#sent.get(pool)
    if (known !== undefined) return known.id
    return this.#send(pool).id
  }

  /** Keeps a pool with the driver until {@link unuse}. */
  use(pool: Pool): void {
    const sent = this.#sent.get(pool)!
    sent.uses++
    sent.lastUse = ++this.#uses
  }

  unuse(pool: Pool): void {
    const sent = this.#sent.get(pool)
    if (sent !== undefined) sent.uses--
  }

  #send(pool: Pool): Sent {
    const { attachment, memorySize, kind } = pool
    if (attachment === undefined)
      throw new PoolsError('INVALID_ARGUMENT', 'a pool without a descriptor can only be used in its own process')
    if (!this.#makeRoom(memorySize))
      throw exhausted(`${this.#channel.agreement.pools} pools of ${this.#channel.agreement.poolBytes} bytes`)
    const id = ++this.#lastId
    this.#channel.notify(operations.REGISTER_POOL, { id, kind, ...poolMessage(pool) }, [attachment])
    const sent = { id, uses: 0, lastUse: ++this.#uses }
    this.#sent.set(pool, sent)
    this.#byteSize += memorySize
    pool.addCloseAction(() => this.#release(pool, sent))
    return sent
  }

  /** Leaves room for one more pool; false if those in use don't allow it: what the driver refused, it refuses for good. */
  #makeRoom(byteSize: number): boolean {
    const { pools, poolBytes } = this.#channel.agreement
    const hasRoom = (): boolean => this.#sent.size < pools && this.#byteSize + byteSize <= poolBytes
    if (hasRoom()) return true
    const idle = [...this.#sent].filter(([, { uses }]) => uses === 0).toSorted(([, a], [, b]) => a.lastUse - b.lastUse)
    for (const [pool, sent] of idle) {
      this.#release(pool, sent)
      if (hasRoom()) return true
    }
    return false
  }

  #release(pool: Pool, sent: Sent): void {
    // A pool may have been released and sent again since.
    if (this.#sent.get(pool) !== sent) return
    this.#sent.delete(pool)
    this.generation++
    this.#byteSize -= pool.memorySize
    this.#channel.notify(operations.RELEASE_POOL, { id: sent.id })
  }
}
