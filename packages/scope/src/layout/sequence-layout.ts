import { ArgumentError, ArgumentRangeError } from '@tenon/core'
import { checkSize, describe } from '@tenon/core/internal'
import { allocateValues } from '../allocator/allocate-values.ts'
import type { AllocatorLike } from '../allocator/check-allocator.ts'
import type { MemorySegment } from '../segment/memory-segment.ts'
import { Layout, sizeOf } from './memory-layout.ts'

/** The layout of consecutive elements. A sequence without an element count is open and extends to the segment's end. */
export class SequenceLayout<Element = unknown, Size extends number | undefined = number | undefined> extends Layout<
  MemorySegment,
  Size
> {
  readonly element: Layout<Element>
  readonly elementCount: Size

  /** @internal */
  constructor(element: Layout<Element>, elementCount: Size, byteAlignment?: number, name?: string) {
    const size = sizeOf(element)
    if (size % element.byteAlignment !== 0) {
      throw new ArgumentError(
        `the size of the element ${element} must be a multiple of its alignment, got ${size} bytes`,
      )
    }
    if (elementCount !== undefined && !Number.isSafeInteger(size * elementCount)) {
      throw new ArgumentRangeError(`a sequence must have at most 2^53 - 1 bytes, got ${elementCount} times ${size}`)
    }
    const byteSize = elementCount === undefined ? undefined : size * elementCount
    super(byteSize as Size, byteAlignment ?? element.byteAlignment, name)
    this.element = element
    this.elementCount = elementCount
  }

  /** The same sequence with this many elements. */
  withElementCount(elementCount: number): SequenceLayout<Element, number> {
    const count = checkSize(elementCount, 'elementCount', 'elements')
    return new SequenceLayout(this.element, count, this.byteAlignment, this.name)
  }

  /**
   * Returns nested sequences of the same elements in the same order. One count may be -1, and is then computed.
   *
   * @throws {ArgumentError} if the product of the counts is not the number of elements.
   */
  reshape(...counts: readonly number[]): SequenceLayout<unknown, number> {
    const total = this.#count()
    const known = counts.filter((count) => count !== -1)
    const isValid = known.every((count) => Number.isSafeInteger(count) && count >= 1)
    if (counts.length === 0 || counts.length - known.length > 1 || !isValid) {
      throw new ArgumentError(
        `counts must be whole numbers from 1, at most one of them -1, got ${counts.map(describe).join(', ')}`,
      )
    }
    const product = known.reduce((a, b) => a * b, 1)
    const resolved = counts.map((count) => (count === -1 ? total / product : count))
    if (resolved.reduce((a, b) => a * b, 1) !== total || !resolved.every(Number.isInteger)) {
      throw new ArgumentError(`the product of the counts must be ${total}, got ${counts.join(' x ')}`)
    }
    return resolved.reduceRight<Layout>(
      (element, count) => new SequenceLayout(element, count),
      this.element,
    ) as SequenceLayout<unknown, number>
  }

  /** Returns one sequence with all elements of the nested sequences. */
  flatten(): SequenceLayout<unknown, number> {
    let count = this.#count()
    let { element }: { element: Layout } = this
    while (element instanceof SequenceLayout) {
      count *= element.#count()
      element = element.element
    }
    return new SequenceLayout(element, count, this.byteAlignment, this.name)
  }

  #count(): number {
    if (this.elementCount !== undefined) return this.elementCount
    throw new ArgumentError(`the sequence ${this} must have a count, but it is open`, {
      hint: 'Bind it with withElementCount().',
    })
  }

  override allocateIn(allocator: AllocatorLike, values: readonly MemorySegment[]): MemorySegment {
    return allocateValues(this, allocator, values)
  }

  /** Returns the slice of the sequence. An open sequence contains as many whole elements as the segment has room for. */
  override read(segment: MemorySegment, byteOffset: number): MemorySegment {
    const slice = segment.asSlice(byteOffset, this.byteSize, this.byteAlignment)
    if (this.elementCount !== undefined) return slice
    return slice.asSlice(0, slice.byteSize - (slice.byteSize % Math.max(sizeOf(this.element), 1)))
  }

  override write(): never {
    throw new ArgumentError('a sequence cannot be written as a whole', {
      hint: 'Write its elements, or use copyFrom() of its slice.',
    })
  }

  protected override get innerAlignment(): number {
    return this.element.byteAlignment
  }

  protected override copy(name: string | undefined, byteAlignment: number): this {
    return new SequenceLayout(this.element, this.elementCount, byteAlignment, name) as this
  }

  protected override describeShape(): string {
    return `[${this.elementCount ?? ''}:${this.element}]`
  }
}
