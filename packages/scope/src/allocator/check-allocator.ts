import { AllocationError, ArgumentError, type NativeAllocator, Segment } from '@tenon/core'
import { describe, hex } from '@tenon/core/internal'
import { MemorySegment } from '../segment/memory-segment.ts'

/** An allocator as a function: the one method, by itself. */
export type AllocateFunction = (byteSize: number, byteAlignment: number) => Segment

/** Wherever an allocator is taken, its one method is enough. */
export type AllocatorLike = NativeAllocator | AllocateFunction

/**
 * Asks an allocator for memory and checks what it gives: allocators are foreign code.
 *
 * @throws {ArgumentError} if it is no allocator. @throws {AllocationError} if it gave no segment, a smaller one, or one that
 * is not aligned.
 */
export function allocateFrom(allocator: AllocatorLike, byteSize: number, byteAlignment: number): MemorySegment {
  let segment: unknown
  if (typeof allocator === 'function') {
    segment = allocator(byteSize, byteAlignment)
  } else if (typeof allocator === 'object' && allocator !== null && typeof allocator.allocate === 'function') {
    segment = allocator.allocate(byteSize, byteAlignment)
  } else {
    throw new ArgumentError(
      `allocator must have a method allocate(byteSize, byteAlignment), got ${describe(allocator)}`,
    )
  }
  if (!(segment instanceof Segment) || segment.byteSize < byteSize) {
    throw new AllocationError(`the allocator must give a segment of ${byteSize} bytes, it gave ${describe(segment)}`, {
      details: { byteSize, byteAlignment },
    })
  }
  const { block, base } = segment
  if ((block.address + base) % byteAlignment !== 0) {
    throw new AllocationError(
      `the allocator must give memory aligned to ${byteAlignment}, it gave ${hex(block.address + base)}`,
      {
        details: { byteSize, byteAlignment },
      },
    )
  }
  const typed = segment instanceof MemorySegment ? segment : MemorySegment.ofSegment(segment)
  return typed.byteSize === byteSize ? typed : typed.asSlice(0, byteSize)
}
