import { PoolsError, refused } from '../error-status.ts'
import { exhausted } from './session.ts'
import type { DriverLimits } from '../nnapi/engine/limits.ts'
import { discardAttachment, type Attachment } from '../link/link.ts'
import { decodeBufferDescription, memorySize } from '../memory/buffer-description.ts'
import { importPool, type PoolHandle } from '../memory/import-pool.ts'
import type { Pool } from '../memory/pool.ts'
import type { PoolKind } from '../memory/pool-facts.ts'
import { binary, boolean, number, type Read, type Reader, record, string, u32 } from '../wire/body.ts'

export class PoolRegistry {
  readonly #limits: DriverLimits
  /** The pool, or the error for requests that name it. */
  readonly #pools = new Map<number, Pool | PoolsError>()
  /** Pools that the client has released, and models still use. */
  readonly #leaving = new Set<Pool>()
  #byteSize = 0

  constructor(limits: DriverLimits) {
    this.#limits = limits
  }

  /** Registers a pool, and takes its attachment over in any case. */
  register(reader: Reader, attachment: Attachment): void {
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

  find(id: number, path: string): Pool {
    const pool = this.#pools.get(id)
    if (pool === undefined) throw refused('Q3', `${path} must be a registered pool`, path)
    if (pool instanceof PoolsError)
      throw new PoolsError(pool.status, `${path}: ${pool.sentence}`, { path, rule: pool.rule })
    return pool
  }

  /** Releases a pool. Unknown ids are ignored (Q19). */
  release(id: number): void {
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
      this.#byteSize -= pool.memorySize
      pool.close()
    }
  }

  /** Releases everything, after all models are released. */
  close(): void {
    for (const id of [...this.#pools.keys()]) this.release(id)
    this.closeUnused()
  }

  #import(reader: Reader, attachment: Attachment): Pool {
    const handle = readPool(reader, attachment)
    const byteSize = handle.image === undefined ? handle.byteSize : memorySize(handle.image)
    if (this.#pools.size + this.#leaving.size >= this.#limits.pools) throw exhausted(`${this.#limits.pools} pools`)
    if (this.#byteSize + byteSize > this.#limits.poolBytes) throw exhausted(`${this.#limits.poolBytes} bytes of pools`)
    const pool = importPool(handle)
    this.#byteSize += byteSize
    return pool
  }
}

const KINDS: readonly string[] = ['shared', 'file', 'device-blob', 'device-image'] satisfies PoolKind[]

const readHandle = record<Omit<PoolHandle, 'attachment' | 'keep' | 'label' | 'byteOffset'> & { byteOffset: number }>({
  kind: string as Read<PoolKind>,
  byteSize: u32,
  byteOffset: number,
  isWritable: boolean,
  isFrozen: (isFrozen) => isFrozen.optional(boolean) ?? false,
  image: (image) => image.optional((description) => decodeBufferDescription(binary(description)))!,
})

export function readPool(reader: Reader, attachment: Attachment): PoolHandle {
  const handle = readHandle(reader)
  const { kind, byteOffset } = handle
  if (!KINDS.includes(kind)) throw refused('P1', `a pool must be one of ${KINDS.join(', ')}`)
  if (!(Number.isSafeInteger(byteOffset) && byteOffset >= 0)) throw refused('P7', 'an offset must be a whole number')
  return { ...handle, attachment, keep: false }
}
