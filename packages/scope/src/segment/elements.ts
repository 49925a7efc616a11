import { AlignmentError, ArgumentError, ArgumentRangeError, type Segment } from '@tenon/core'
import { checkSize, checkUsable, newArrayBuffer, typedArrayClass, wrongType } from '@tenon/core/internal'
import type { AlignedAccess } from '../generated/aligned-access.ts'
import { checkLayout, type Layout, sizeOf } from '../layout/memory-layout.ts'
import { OrderedLayout } from '../layout/ordered-layout.ts'
import { copyRange } from './bulk.ts'
import { nativeOrder } from './byte-order.ts'
import { checkAligned, rangeForRead, rangeForWrite } from './locate.ts'

/** The element size of a segment that consists of such elements. @throws {ArgumentError | AlignmentError} if it does not. */
export function elementSize(segment: Segment, layout: Layout): number {
  const size = sizeOf(checkLayout(layout))
  if (size === 0 || segment.byteSize % size !== 0) {
    throw new ArgumentError(
      `the size of the segment must be a multiple of the element's ${size} bytes, got ${segment.byteSize} bytes`,
    )
  }
  if (size % layout.byteAlignment !== 0) {
    throw new AlignmentError(
      `the size of the element must be a multiple of its alignment ${layout.byteAlignment}, got ${size} bytes`,
    )
  }
  checkAligned(segment.block.address + segment.base, layout.byteAlignment)
  return size
}

interface Sliceable<Slice> {
  readonly byteSize: number
  asSlice(byteOffset: number, byteSize: number): Slice
}

/** Iterates over slices of `size` bytes. A generator would take twice as long for each. */
export class Slices<Slice> extends Iterator<Slice, undefined> {
  readonly #segment: Sliceable<Slice>
  readonly #size: number
  #next = 0

  constructor(segment: Sliceable<Slice>, size: number) {
    super()
    this.#segment = segment
    this.#size = size
  }

  next(): IteratorResult<Slice, undefined> {
    const start = this.#next
    if (start >= this.#segment.byteSize) return { done: true, value: undefined }
    this.#next = start + this.#size
    return { done: false, value: this.#segment.asSlice(start, this.#size) }
  }
}

/** Copies all elements: to a typed array for numbers, otherwise to an array. */
export function toArray(segment: AlignedAccess, layout: Layout): unknown {
  const size = elementSize(segment, layout)
  const { block, byteSize } = segment
  const count = byteSize / size
  const isNumeric = layout instanceof OrderedLayout && layout.kind !== 'bool'
  const Class = isNumeric ? typedArrayClass(layout.kind) : undefined
  const mustSwap = isNumeric && layout.order !== nativeOrder
  const start = rangeForRead(segment, block, 0, byteSize)
  if (count > 2 ** 32 - 1) throw new ArgumentRangeError(`an array must have at most 2^32 - 1 elements, got ${count}`)
  if (Class === undefined) return Array.from({ length: count }, (_, i) => layout.read(segment, i * size))
  const copy = new Uint8Array(newArrayBuffer(byteSize, 1), 0, byteSize)
  copy.set(block.bytes.subarray(start, start + byteSize))
  if (mustSwap) swapEach(copy, size)
  return new Class(copy.buffer, 0, count)
}

function swapEach(bytes: Uint8Array, size: number): void {
  const buffer = Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength)
  if (size === 2) buffer.swap16()
  if (size === 4) buffer.swap32()
  if (size === 8) buffer.swap64()
}

/** A range of elements: a segment, the layout of an element, and the offset of the first one in bytes. */
export type ElementRange = readonly [segment: Segment, layout: OrderedLayout, byteOffset: number]

/** Copies elements of the same size, and reverses their bytes if the orders differ. */
export function copyElements(first: ElementRange, second: ElementRange, count: number): void {
  const [from, fromLayout, fromOffset] = first
  const [to, toLayout, toOffset] = second
  for (const layout of [fromLayout, toLayout]) {
    if (!(layout instanceof OrderedLayout)) throw wrongType('layout', 'a value layout', layout)
    if (layout.byteAlignment > layout.byteSize) {
      throw new AlignmentError(
        `elements of ${layout.byteSize} bytes cannot each be aligned to ${layout.byteAlignment} bytes`,
      )
    }
  }
  const size = fromLayout.byteSize
  if (size !== toLayout.byteSize) {
    throw new ArgumentError(`the elements must have the same size, got ${size} and ${toLayout.byteSize} bytes`)
  }
  const [fromAlignment, toAlignment] = [fromLayout.byteAlignment, toLayout.byteAlignment]
  const mustSwap = fromLayout.order !== toLayout.order
  const length = checkSize(checkSize(count, 'elementCount', 'elements') * size, 'elementCount * byteSize')
  const [source, target] = [from.block, to.block]
  const targetStart = rangeForWrite(to, target, toOffset, length)
  const sourceStart = rangeForRead(from, source, fromOffset, length)
  checkAligned(target.address + targetStart, toAlignment)
  checkAligned(source.address + sourceStart, fromAlignment)
  checkUsable(target)
  copyRange(source.bytes, sourceStart, target.bytes, targetStart, length)
  if (mustSwap) swapEach(target.bytes.subarray(targetStart, targetStart + length), size)
}
