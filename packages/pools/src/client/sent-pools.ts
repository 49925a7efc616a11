import { exhausted } from '../server/session.ts'
import { PoolsError } from '../error-status.ts'
import { encodeBufferDescription } from '../memory/buffer-description.ts'
import { ImagePool } from '../memory/image-pool.ts'
import type { Pool } from '../memory/pool.ts'
import type { DriverChannel } from './driver-channel.ts'
import { operations } from '../wire/frame.ts'

interface Sent {
  readonly id: number
  uses: number
  /** The number of its last use. The pool with the smallest number is the least recently used. */
  lastUse: number
}

/**
 * The pools that a driver has received. Each is sent once, at its first use, and is named by its id afterwards. When the driver
 * takes no more, the least recently used one is released.
 */
export class SentPools {
  readonly #channel: DriverChannel
  readonly #sent = new Map<Pool, Sent>()
  #byteSize = 0
  #lastId = 0
  #uses = 0
  /** Increases whenever an id ends. */
  generation = 0

  constructor(channel: DriverChannel) {
    this.#channel = channel
  }

  /** Keeps a pool with the driver until {@link unuse}, and sends it first if need be. Returns the id for messages. */
  use(pool: Pool): number {
    const sent = this.#sent.get(pool) ?? this.#send(pool)
    sent.uses++
    sent.lastUse = ++this.#uses
    return sent.id
  }

  unuse(pool: Pool): void {
    const sent = this.#sent.get(pool)
    if (sent !== undefined) sent.uses--
  }

  #send(pool: Pool): Sent {
    const { attachment, byteSize, identityOffset: byteOffset, kind, memorySize, rights } = pool
    if (attachment === undefined)
      throw new PoolsError('INVALID_ARGUMENT', 'a pool without a descriptor can only be used in its own process')
    if (!this.#makeRoom(memorySize))
      throw exhausted(`${this.#channel.agreement.pools} pools of ${this.#channel.agreement.poolBytes} bytes`)
    const id = ++this.#lastId
    const [isWritable, isFrozen] = [rights === 'writable', rights === 'frozen']
    const image = pool instanceof ImagePool ? encodeBufferDescription(pool.description) : undefined
    const message = { id, kind, byteSize, byteOffset, isWritable, isFrozen, image }
    this.#channel.notify(operations.REGISTER_POOL, message, [attachment])
    const sent = { id, uses: 0, lastUse: ++this.#uses }
    this.#sent.set(pool, sent)
    this.#byteSize += memorySize
    pool.addCloseAction(() => this.#release(pool, sent))
    return sent
  }

  /** Makes room for one more pool. @returns false if too many pools are in use. */
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
    // The pool may have been released and sent again meanwhile.
    if (this.#sent.get(pool) !== sent) return
    this.#sent.delete(pool)
    this.generation++
    this.#byteSize -= pool.memorySize
    this.#channel.notify(operations.RELEASE_POOL, { id: sent.id })
  }
}
