import { ArgumentError, ScopeClosedError, type Segment } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { checkOffset, checkWritable, describeSegment } from './locate.ts'
import { MemorySegment } from './memory-segment.ts'

/**
 * @throws {ScopeClosedError} if the memory can't be used: its scope is closed, or a user transferred its buffer away.
 */
export function checkUsable(segment: Segment): void {
  const { gate, exposed, view } = segment.block
  if (!gate.alive) gate.owner.checkAlive()
  if (exposed && isDetached(view.buffer)) {
    throw new ScopeClosedError(
      `the memory of the segment ${describeSegment(segment)} was detached through its buffer`,
      {
        hint: 'never transfer the buffer of a raw view: copy it, or hand the scope off.',
      },
    )
  }
}

const isDetached = (buffer: ArrayBufferLike): boolean => buffer instanceof ArrayBuffer && buffer.detached

/**
 * Checks a range that is read as a whole; returns where it starts in the block. The liveness counts for 0 bytes too.
 */
export function rangeForRead(segment: Segment, byteOffset: unknown, byteSize: number): number {
  const offset = checkOffset(segment, byteOffset, byteSize)
  checkUsable(segment)
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
