import { AlignmentError, ArgumentError, ArgumentRangeError, type Segment } from '@tenon/core'
import { checkSize, describe } from '@tenon/core/internal'
import { checkLayout, type Layout, sizeOf } from '../layout/memory-layout.ts'
import { ValueLayout } from '../layout/value-layout.ts'
import { nativeOrder } from './byte-order.ts'
import { checkAligned } from './locate.ts'
import type { MemorySegment } from './memory-segment.ts'
import { rangeForRead, rangeForWrite } from './usable.ts'

/**
 * The size of an element that a segment is made of as a whole. @throws {ArgumentError | AlignmentError} if it can't be.
 */
export function elementSize(segment: Segment, layout: Layout): number {
  const size = sizeOf(checkLayout(layout))
  if (size === 0 || segment.byteSize % size !== 0) {
    throw new ArgumentError(
      `the segment's ${segment.byteSize} bytes must be a multiple of the element's, which has ${size}`,
    )
  }
  if (size % layout.byteAlignment !== 0) {
    throw new AlignmentError(
      `the element's size must be a multiple of its alignment ${layout.byteAlignment}, it is ${size}`,
    )
  }
  checkAligned(segment.block.address + segment.base, layout.byteAlignment)
  return size
}

/** The slices of a segment, `size` bytes each. A generator would take twice as long for each. */
export class Slices extends Iterator<MemorySegment, undefined> {
  readonly #segment: MemorySegment
  readonly #size: number
  #next = 0

  constructor(segment: MemorySegment, size: number) {
    super()
    this.#segment = segment
    this.#size = size
  }

  next(): IteratorResult<MemorySegment, undefined> {
    const start = this.#next
    if (start >= this.#segment.byteSize) return { done: true, value: undefined }
    this.#next = start + this.#size
    return { done: false, value: this.#segment.asSlice(start, this.#size) }
  }
}

/** The typed arrays of the kinds that have one. */
const arrays = {
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  float32: Float32Array,
  float64: Float64Array,
} as const

/** All elements, copied: a typed array for numbers, else an array. */
export function toArray(segment: MemorySegment, layout: Layout): unknown {
  const size = elementSize(segment, layout)
  const start = rangeForRead(segment, 0, segment.byteSize)
  const count = segment.byteSize / size
  const Class = layout instanceof ValueLayout && layout.kind !== 'bool' ? arrays[layout.kind] : undefined
  if (Class === undefined) return Array.from({ length: count }, (_, i) => layout.read(segment, i * size))
  if (count > 2 ** 32 - 1) throw new ArgumentRangeError(`an array holds at most 2^32 - 1 elements, got ${count}`)
  const copy = new Uint8Array(segment.byteSize)
  copy.set(segment.block.bytes.subarray(start, start + segment.byteSize))
  if ((layout as ValueLayout).order !== nativeOrder) swapEach(copy, size)
  return new Class(copy.buffer)
}

/** Turns the bytes of each element round. */
function swapEach(bytes: Uint8Array, size: number): void {
  const buffer = Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength)
  if (size === 2) buffer.swap16()
  if (size === 4) buffer.swap32()
  if (size === 8) buffer.swap64()
}

/** Copies elements; their orders may differ. Counts and offsets: as the public method says. */
export function copyElements(
  source: MemorySegment,
  sourceLayout: ValueLayout,
  sourceOffset: number,
  target: MemorySegment,
  targetLayout: ValueLayout,
  targetOffset: number,
  count: number,
): void {
  for (const layout of [sourceLayout, targetLayout]) {
    if (!(layout instanceof ValueLayout))
      throw new ArgumentError(`layout must be a value layout, got ${describe(layout)}`)
    if (layout.byteAlignment > layout.byteSize) {
      throw new AlignmentError(`elements of ${layout.byteSize} bytes can't each be aligned to ${layout.byteAlignment}`)
    }
  }
  const size = sourceLayout.byteSize
  if (size !== targetLayout.byteSize) {
    throw new ArgumentError(`the elements must have the same size, got ${size} and ${targetLayout.byteSize} bytes`)
  }
  const length = checkSize(checkSize(count, 'elementCount', 'elements') * size, 'elementCount * byteSize')
  const to = rangeForWrite(target, targetOffset, length)
  const from = rangeForRead(source, sourceOffset, length)
  checkAligned(target.block.address + to, targetLayout.byteAlignment)
  checkAligned(source.block.address + from, sourceLayout.byteAlignment)
  source.block.bytes.copy(target.block.bytes, to, from, from + length)
  if (sourceLayout.order !== targetLayout.order) swapEach(target.block.bytes.subarray(to, to + length), size)
}
