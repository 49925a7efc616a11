import type { Segment } from '@tenon/core'
import { checkUsable, fillBytes, runtime } from '@tenon/core/internal'
import { rangeForRead, rangeForWrite } from './locate.ts'
import { refuse } from './value-range.ts'
import { isSmall } from './window.ts'

export function fill(segment: Segment, value: number): void {
  if (typeof value !== 'number' || (value & 0xff) !== value) refuse('uint8', value)
  const { block, byteSize } = segment
  const start = rangeForWrite(segment, block, 0, byteSize)
  fillBytes(block.bytes, value, start, start + byteSize)
}

/** Copies all bytes of a segment to the start of another, which it may overlap. */
export function copyBytes(source: Segment, target: Segment): void {
  const { block: from, byteSize: size } = source
  const { block: to } = target
  const targetStart = rangeForWrite(target, to, 0, size)
  const start = rangeForRead(source, from, 0, size)
  checkUsable(to)
  copyRange(from.bytes, start, to.bytes, targetStart, size)
}

/** Copies a range to another, which it may overlap. */
export function copyRange(from: Buffer, start: number, to: Buffer, targetStart: number, size: number): void {
  if (from === to) to.copyWithin(targetStart, start, start + size)
  else if (isSmall(from) && isSmall(to)) from.copy(to, targetStart, start, start + size)
  else to.set(from.subarray(start, start + size), targetStart)
}

/** The number of bytes that mismatch() compares in one call before it looks closer. */
const STEP = 64 * 1024

/** The offset of the first byte that differs: -1 if none does, the smaller size if one segment is a prefix of the other. */
export function mismatch(one: Segment, other: Segment): number {
  const [block, otherBlock] = [one.block, other.block]
  const [oneSize, otherSize] = [one.byteSize, other.byteSize]
  const start = rangeForRead(one, block, 0, oneSize)
  const otherStart = rangeForRead(other, otherBlock, 0, otherSize)
  checkUsable(block)
  const size = Math.min(oneSize, otherSize)
  const offset = firstDifference(block.bytes, start, otherBlock.bytes, otherStart, size)
  return offset === size && oneSize === otherSize ? -1 : offset
}

/** The offset of the first byte that differs, or `size`. */
function firstDifference(one: Buffer, start: number, other: Buffer, otherStart: number, size: number): number {
  for (let offset = 0; offset < size; offset += STEP) {
    const length = Math.min(STEP, size - offset)
    const [from, otherFrom] = [start + offset, otherStart + offset]
    const isEqual =
      isSmall(one) && isSmall(other) && runtime.comparesRanges
        ? one.compare(other, otherFrom, otherFrom + length, from, from + length) === 0
        : one.subarray(from, from + length).equals(other.subarray(otherFrom, otherFrom + length))
    if (isEqual) continue
    while (one[start + offset] === other[otherStart + offset]) offset++
    return offset
  }
  return size
}

/** The part of `one` that overlaps `other`: its offset in `one` and its size in bytes, which is 0 without an overlap. */
export function overlap(one: Segment, other: Segment): [byteOffset: number, byteSize: number] {
  const [start, otherStart] = [one.block.address + one.base, other.block.address + other.base]
  const from = Math.max(start, otherStart)
  const to = Math.min(start + one.byteSize, otherStart + other.byteSize)
  return from < to ? [from - start, to - from] : [0, 0]
}
