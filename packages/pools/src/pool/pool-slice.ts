import { checkSlice } from '@tenon/core/internal'
import type { Pool } from './pool.ts'
import type { PoolRights } from './pool-facts.ts'

/** A range of a pool as an argument: a value that holds nothing open and reads nothing. Made by the pool. */
export class PoolSlice<Rights extends PoolRights = PoolRights> {
  readonly pool: Pool<Rights>
  /** In bytes from the pool's start. */
  readonly byteOffset: number
  readonly byteSize: number
  readonly padding: number
  readonly dimensions: readonly number[]

  /** @internal */
  constructor(
    pool: Pool<Rights>,
    byteOffset: number,
    byteSize: number,
    padding: number,
    dimensions: readonly number[],
  ) {
    this.pool = pool
    this.byteOffset = byteOffset
    this.byteSize = byteSize
    this.padding = padding
    // A copy, so that a slice is a value: executions remember what they made of it.
    this.dimensions = Object.freeze([...dimensions])
  }

  /** Copies the bytes out. @throws {ScopeClosedError} */
  read(): Uint8Array<ArrayBuffer> {
    return this.pool.read(this.byteOffset, this.byteSize)
  }

  /** Copies bytes in, from the slice's start. @throws {ReadOnlyError} @throws {ScopeClosedError} @throws {BoundsError} */
  write(source: ArrayBufferView | ArrayBuffer): void {
    checkSlice(this.byteSize, 0, source.byteLength)
    this.pool.write(this.byteOffset, source)
  }
}
