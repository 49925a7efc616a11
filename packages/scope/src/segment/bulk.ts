import type { Segment } from '@tenon/core'
import { rangeForRead, rangeForWrite } from './locate.ts'
import { refuse } from './value-range.ts'

export function fill(segment: Segment, value: number): void {
  if (typeof value !== 'number' || (value & 0xff) !== value) refuse('uint8', value)
  const start = rangeForWrite(segment, 0, segment.byteSize)
  segment.block.bytes.fill(value, start, start + segment.byteSize)
}

/** Copies all bytes of a segment to the start of another, which it may overlap. */
export function copyBytes(source: Segment, target: Segment): void {
  const size = source.byteSize
  const to = rangeForWrite(target, 0, size)
  const from = rangeForRead(source, 0, size)
  const { bytes } = source.block
  if (bytes === target.block.bytes) bytes.copyWithin(to, from, from + size)
  else bytes.copy(target.block.bytes, to, from, from + size)
}

/** The number of bytes that mismatch() compares in one call before it looks closer. */
const STEP = 64 * 1024

/** The offset of the first byte that differs: -1 if none does, the smaller size if one segment is a prefix of the other. */
export function mismatch(one: Segment, other: Segment): number {
  const [start, otherStart] = [rangeForRead(one, 0, one.byteSize), rangeForRead(other, 0, other.byteSize)]
  const [bytes, otherBytes] = [one.block.bytes, other.block.bytes]
  const size = Math.min(one.byteSize, other.byteSize)
  for (let offset = 0; offset < size; offset += STEP) {
    const end = Math.min(offset + STEP, size)
    if (bytes.compare(otherBytes, otherStart + offset, otherStart + end, start + offset, start + end) === 0) continue
    while (bytes[start + offset] === otherBytes[otherStart + offset]) offset++
    return offset
  }
  return one.byteSize === other.byteSize ? -1 : size
}

/** The part of `one` that overlaps `other`: its offset in `one` and its size in bytes, which is 0 without an overlap. */
export function overlap(one: Segment, other: Segment): [byteOffset: number, byteSize: number] {
  const [start, otherStart] = [one.block.address + one.base, other.block.address + other.base]
  const from = Math.max(start, otherStart)
  const to = Math.min(start + one.byteSize, otherStart + other.byteSize)
  return from < to ? [from - start, to - from] : [0, 0]
}
