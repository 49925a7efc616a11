import { exhausted } from '../engine/limits.ts'
import { PoolsError, ImagePool, type Pool } from '@tenon/pools'
import { type Attachment } from '@tenon/pools/internal'
import { encodeBufferDescription } from '../wire/buffer-description.ts'
import { operations } from '../wire/frame.ts'

/** What a driver takes from one client. */
export interface Agreement {
  readonly pools: number
  readonly poolBytes: number
  readonly requests: number
}

/** Takes pools for a driver. */
export interface PoolReceiver {
  readonly agreement: Agreement
  notify(operation: number, value: unknown, attachments?: readonly Attachment[]): void
}

interface Sent {
  readonly pool: Pool
  readonly id: number
  /** The place in the list of those that were sent. */
  index: number
  uses: number
}

/**
 * The pools that a driver has received. Each is sent once, at its first use, and is named by its id afterwards. When the driver
 * takes no more, any one that is not in use is released.
 */
export class SentPools {
  readonly #driver: PoolReceiver
  readonly #sent = new Map<Pool, Sent>()
  readonly #list: Sent[] = []
  /** Pools that are released when they are closed. */
  readonly #watched = new WeakSet<Pool>()
  #byteSize = 0
  #lastId = 0
  /** Increases whenever an id ends. */
  generation = 0

  constructor(driver: PoolReceiver) {
    this.#driver = driver
  }

  /** Keeps a pool with the driver until {@link unuse}, and sends it first if need be. Returns the id for messages. */
  use(pool: Pool): number {
    const sent = this.#sent.get(pool) ?? this.#send(pool)
    sent.uses++
    return sent.id
  }

  unuse(pool: Pool): void {
    const sent = this.#sent.get(pool)
    if (sent !== undefined) sent.uses--
  }

  /** Uses pools together: none of them makes room for another. Returns the ids. @throws {PoolsError} and uses none */
  useAll(pools: readonly Pool[]): ReadonlyMap<Pool, number> {
    const ids = new Map<Pool, number>()
    try {
      for (const pool of pools) if (!ids.has(pool)) ids.set(pool, this.use(pool))
    } catch (error) {
      this.unuseAll(ids.keys())
      throw error
    }
    return ids
  }

  unuseAll(pools: Iterable<Pool>): void {
    for (const pool of pools) this.unuse(pool)
  }

  #send(pool: Pool): Sent {
    const { attachment, byteSize, identityOffset: byteOffset, kind, memorySize, rights } = pool
    if (attachment === undefined)
      throw new PoolsError('INVALID_ARGUMENT', 'a pool without a descriptor can only be used in its own process')
    const { pools, poolBytes } = this.#driver.agreement
    while (this.#list.length >= pools || this.#byteSize + memorySize > poolBytes) {
      const unused = this.#findUnused()
      if (unused === undefined) throw exhausted(`${pools} pools of ${poolBytes} bytes`)
      this.#release(unused)
    }
    const id = ++this.#lastId
    const [isWritable, isFrozen] = [rights === 'writable', rights === 'frozen']
    const image = pool instanceof ImagePool ? encodeBufferDescription(pool.description) : undefined
    const message = { id, kind, byteSize, byteOffset, isWritable, isFrozen, image }
    this.#driver.notify(operations.REGISTER_POOL, message, [attachment])
    const sent = { pool, id, index: this.#list.length, uses: 0 }
    this.#sent.set(pool, sent)
    this.#list.push(sent)
    this.#byteSize += memorySize
    this.#releaseOnClose(pool)
    return sent
  }

  #releaseOnClose(pool: Pool): void {
    if (this.#watched.has(pool)) return
    this.#watched.add(pool)
    pool.addCloseAction(() => {
      const sent = this.#sent.get(pool)
      if (sent !== undefined) this.#release(sent)
    })
  }

  /**
   * Finds a pool that is not in use, from a random place on. Requests that use one pool more than the driver takes, in turn, then
   * seldom need the one that was released just before: by age, or by second chance, each would need it.
   */
  #findUnused(): Sent | undefined {
    const { length } = this.#list
    const first = Math.floor(Math.random() * length)
    for (let i = 0; i < length; i++) {
      const sent = this.#list[(first + i) % length]!
      if (sent.uses === 0) return sent
    }
    return undefined
  }

  #release(sent: Sent): void {
    this.#sent.delete(sent.pool)
    const last = this.#list.pop()!
    if (last !== sent) {
      this.#list[sent.index] = last
      last.index = sent.index
    }
    this.generation++
    this.#byteSize -= sent.pool.memorySize
    this.#driver.notify(operations.RELEASE_POOL, { id: sent.id })
  }
}
