import { ArgumentError } from '@tenon/core'
import { inspectAsText, wrongType } from '@tenon/core/internal'
import { checkSegment, type MemorySegment } from '../segment/memory-segment.ts'
import type { Layout } from './memory-layout.ts'
import { checkIndexCount, endOf, follow, type PathElement, resolve, type Route } from './path.ts'

/** Reads and writes the value at the end of a path, in any segment of that layout. */
export class VarHandle<Value = unknown> {
  /** The layout at the end of the path. */
  readonly layout: Layout<Value>
  readonly #route: Route

  /** @internal */
  constructor(root: Layout, path: readonly PathElement[]) {
    this.#route = resolve(root, path)
    this.layout = this.#route.layout as Layout<Value>
  }

  /**
   * Reads the value.
   *
   * @param baseOffset the offset of the layout in the segment, in bytes.
   * @param indexes an index for each free element of the path, in order.
   * @throws {ArgumentError} if their number is wrong. @throws {BoundsError} if one is too large. @throws as an access does
   */
  get(segment: MemorySegment, baseOffset: number, ...indexes: readonly number[]): Value {
    const place = this.#enter(segment, baseOffset, indexes)
    return this.layout.read(place, endOf(this.#route, baseOffset, indexes))
  }

  /** Writes the value, which precedes the indexes. @throws as {@link get} */
  set(segment: MemorySegment, baseOffset: number, value: Value, ...indexes: readonly number[]): void {
    const place = this.#enter(segment, baseOffset, indexes)
    this.layout.write(place, endOf(this.#route, baseOffset, indexes), value)
  }

  /** The slice that the handle reads and writes. */
  slice(segment: MemorySegment, baseOffset: number, ...indexes: readonly number[]): MemorySegment {
    const place = this.#enter(segment, baseOffset, indexes)
    return place.asSlice(endOf(this.#route, baseOffset, indexes), this.layout.byteSize)
  }

  /** The offset from the layout's start, in bytes. @throws {ArgumentError} if the path follows a pointer. */
  byteOffset(...indexes: readonly number[]): number {
    if (this.#route.followed.length > 0)
      throw new ArgumentError('a path that follows a pointer does not have an offset')
    checkIndexCount(this.#route, indexes)
    return endOf(this.#route, 0, indexes)
  }

  #enter(segment: MemorySegment, baseOffset: number, indexes: readonly number[]): MemorySegment {
    checkSegment(segment, 'segment')
    if (typeof baseOffset !== 'number') throw wrongType('baseOffset', 'a number', baseOffset)
    checkIndexCount(this.#route, indexes)
    return follow(this.#route, segment, baseOffset, indexes)
  }

  toString(): string {
    return `VarHandle of ${this.layout}, free indexes: ${this.#route.indexCount}`
  }

  static {
    inspectAsText(VarHandle)
  }
}
