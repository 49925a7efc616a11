import { ArgumentError, type Segment } from '@tenon/core'
import { checkUsable, describe } from '@tenon/core/internal'
import { checkOffset, checkWritable } from './locate.ts'
import { MemorySegment } from './memory-segment.ts'

/**
 * Checks a range that is read as a whole; returns where it starts in the block. The liveness counts for 0 bytes too.
 */
export function rangeForRead(segment: Segment, byteOffset: unknown, byteSize: number): number {
  const offset = checkOffset(segment, byteOffset, byteSize)
  checkUsable(segment.block)
  return segment.base + offset
}

/** {@link rangeForRead} of a range that is written. @throws {ReadOnlyError} before all others. */
export function rangeForWrite(segment: Segment, byteOffset: unknown, byteSize: number): number {
  checkWritable(segment)
  return rangeForRead(segment, byteOffset, byteSize)
}

/** @throws {ArgumentError} if it is no segment of this package. */
export function checkSegment(value: unknown, name: string): MemorySegment {
  if (value instanceof MemorySegment) return value
  throw new ArgumentError(`${name} must be a MemorySegment, got ${describe(value)}`, {
    hint: 'MemorySegment.ofSegment() gives a segment of another allocator typed access, MemorySegment.ofBuffer() a buffer.',
  })
}
