import { ArgumentError } from '@tenon/core'
import type { MemorySegment } from '../segment/memory-segment.ts'
import type { Layout } from './memory-layout.ts'
import { follow, offsetOf, type PathElement, resolve, type Route } from './path.ts'

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
    const [place, offset] = follow(this.#route, segment, baseOffset, indexes)
    return this.layout.read(place, offset)
  }

  /** Like {@link get}; the value stands before the indexes. */
  set(segment: MemorySegment, baseOffset: number, value: Value, ...indexes: readonly number[]): void {
    const [place, offset] = follow(this.#route, segment, baseOffset, indexes)
    this.layout.write(place, offset, value)
  }

  /** The slice that it reads and writes. */
  slice(segment: MemorySegment, baseOffset: number, ...indexes: readonly number[]): MemorySegment {
    const [place, offset] = follow(this.#route, segment, baseOffset, indexes)
    return place.asSlice(offset, this.layout.byteSize)
  }

  /** The offset from the layout's start, in bytes. @throws {ArgumentError} if the path follows a pointer. */
  byteOffset(...indexes: readonly number[]): number {
    const { legs } = this.#route
    if (legs.length !== 1) throw new ArgumentError('a path that follows a pointer has no offset')
    const { strides } = legs[0]
    if (strides.length !== indexes.length)
      throw new ArgumentError(`the path needs ${strides.length} indexes, got ${indexes.length}`)
    return offsetOf(legs[0], indexes, 0)
  }
}
