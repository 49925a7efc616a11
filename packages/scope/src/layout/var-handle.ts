import { ArgumentError } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import type { MemorySegment } from '../segment/memory-segment.ts'
import { checkSegment } from '../segment/usable.ts'
import type { Layout } from './memory-layout.ts'
import { checkIndexCount, endOf, follow, type PathElement, resolve, type Route } from './path.ts'

/** Reads and writes what is at the end of a path, in any memory of that layout. */
export class VarHandle<Value = unknown> {
  /** What is at the end of the path. */
  readonly layout: Layout<Value>
  readonly #route: Route

  /** @internal */
  constructor(root: Layout, path: readonly PathElement[]) {
    this.#route = resolve(root, path)
    this.layout = this.#route.layout as Layout<Value>
  }

  /**
   * @param baseOffset where the layout starts in the segment, in bytes.
   * @param indexes one for each free element of the path, in order.
   * @throws {ArgumentError} if their number is wrong. @throws {BoundsError} if one is too large. @throws as an access
   * does
   */
  get(segment: MemorySegment, baseOffset: number, ...indexes: readonly number[]): Value {
    const place = this.#enter(segment, baseOffset, indexes)
    return this.layout.read(place, endOf(this.#route, baseOffset, indexes))
  }

  /** Like {@link get}; the value stands before the indexes. */
  set(segment: MemorySegment, baseOffset: number, value: Value, ...indexes: readonly number[]): void {
    const place = this.#enter(segment, baseOffset, indexes)
    this.layout.write(place, endOf(this.#route, baseOffset, indexes), value)
  }

  /** The slice that it reads and writes. */
  slice(segment: MemorySegment, baseOffset: number, ...indexes: readonly number[]): MemorySegment {
    const place = this.#enter(segment, baseOffset, indexes)
    return place.asSlice(endOf(this.#route, baseOffset, indexes), this.layout.byteSize)
  }

  /** The offset from the layout's start, in bytes. @throws {ArgumentError} if the path follows a pointer. */
  byteOffset(...indexes: readonly number[]): number {
    if (this.#route.followed.length > 0) throw new ArgumentError('a path that follows a pointer has no offset')
    checkIndexCount(this.#route, indexes)
    return endOf(this.#route, 0, indexes)
  }

  #enter(segment: MemorySegment, baseOffset: number, indexes: readonly number[]): MemorySegment {
    checkSegment(segment, 'segment')
    if (typeof baseOffset !== 'number')
      throw new ArgumentError(`baseOffset must be a number, got ${describe(baseOffset)}`)
    checkIndexCount(this.#route, indexes)
    return follow(this.#route, segment, baseOffset, indexes)
  }
}
