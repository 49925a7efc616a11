import { PoolsError, type Pool, type PoolKind } from '@tenon/pools'
import { type Attachment, importPool, memorySize, refused } from '@tenon/pools/internal'
import { type DriverLimits, exhausted } from '../engine/limits.ts'
import { discardAttachment } from '../link/link.ts'
import { descriptorLimit } from '../link/socket.ts'
import { decodeBody, type Reader, u32 } from '../wire/body.ts'
import { readPool } from '../wire/pool-codec.ts'
import type { Budget } from './budget.ts'

/** The pools of files that this process has for its clients. Only these pools have a descriptor. */
let filePools = 0

/** The pools that a client has registered through one channel, which its messages name by their ids. */
export class ClientPools {
  readonly #limits: DriverLimits
  readonly #budget: Budget
  /** Each pool by its id, or the error for requests that name it. */
  readonly #pools = new Map<number, Pool | PoolsError>()
  /** Pools that the client has released, and models or executions still use. */
  readonly #leaving = new Set<Pool>()
  #byteSize = 0
  /** Increases with every release: requests that were bound before are bound again. */
  generation = 0

  constructor(limits: DriverLimits, budget: Budget) {
    this.#limits = limits
    this.#budget = budget
  }

  /**
   * Registers a pool, and takes its attachment over in any case. A failure is reported when the pool is used.
   *
   * @throws {PoolsError} if the message is malformed.
   */
  register(body: Uint8Array, attachment: Attachment): void {
    let reader: Reader
    try {
      reader = decodeBody(body)
    } catch (error) {
      discardAttachment(attachment)
      throw error
    }
    let id: number | undefined
    let isTaken = false
    try {
      id = u32(reader.field('id'))
      if (this.#pools.has(id)) throw refused('P2', 'a pool must come with a new id')
      const pool = this.#import(reader, attachment)
      isTaken = pool.attachment !== undefined
      this.#pools.set(id, pool)
    } catch (error) {
      if (!(error instanceof PoolsError)) throw error
      // The failure is remembered, as long as there is room for it.
      const hasRoom = this.#pools.size < 2 * this.#limits.pools
      if (id !== undefined && !this.#pools.has(id) && hasRoom) this.#pools.set(id, error)
    } finally {
      if (!isTaken) discardAttachment(attachment)
    }
  }

  get(id: number, path: string): Pool {
    const pool = this.#pools.get(id)
    if (pool === undefined) throw refused('Q3', `${path} must be a registered pool`, path)
    if (pool instanceof PoolsError)
      throw new PoolsError(pool.status, `${path}: ${pool.sentence}`, { path, rule: pool.rule })
    return pool
  }

  /** Releases a pool. Unknown ids are ignored (Q19). */
  release(id: number): void {
    this.generation++
    const pool = this.#pools.get(id)
    this.#pools.delete(id)
    if (pool === undefined || pool instanceof PoolsError) return
    this.#leaving.add(pool)
    this.closeUnused()
  }

  closeUnused(): void {
    for (const pool of this.#leaving) {
      if (pool.gate.holds > 0) continue
      this.#leaving.delete(pool)
      this.#count(pool.kind, -pool.memorySize)
      pool.close()
    }
  }

  close(): void {
    for (const id of [...this.#pools.keys()]) this.release(id)
    this.closeUnused()
  }

  #import(reader: Reader, attachment: Attachment): Pool {
    const handle = readPool(reader, attachment)
    const byteSize = handle.image === undefined ? handle.byteSize : memorySize(handle.image)
    const { pools, poolBytes } = this.#limits
    if (this.#pools.size + this.#leaving.size >= pools) throw exhausted(`${pools} pools`)
    if (this.#byteSize + byteSize > poolBytes) throw exhausted(`${poolBytes} bytes of pools`)
    if (handle.kind === 'file' && filePools >= descriptorLimit() / 4)
      throw exhausted('a quarter of the descriptors of this process for pools of files, together with other clients')
    this.#count(handle.kind, byteSize)
    try {
      return importPool(handle)
    } catch (error) {
      this.#count(handle.kind, -byteSize)
      throw error
    }
  }

  #count(kind: PoolKind, byteSize: number): void {
    if (byteSize < 0) this.#budget.give('poolBytes', -byteSize)
    else this.#budget.take('poolBytes', byteSize)
    this.#byteSize += byteSize
    if (kind === 'file') filePools += Math.sign(byteSize)
  }
}
