import { AllocationError, type NativeAllocator, Segment } from '@tenon/core'
import { type Block, copyHint, describe, hex, wrongType } from '@tenon/core/internal'
import { isScope, type ResourceScope } from '../scope/check-scope.ts'
import { MemorySegment } from '../segment/memory-segment.ts'

/** A function with the parameters of an allocator's `allocate` method. */
export type AllocateFunction = (byteSize: number, byteAlignment: number) => Segment

/** An allocator, a function that allocates, or a scope, in which each request gets a separate block. */
export type AllocatorLike = NativeAllocator | AllocateFunction | ResourceScope

/** Checks the result too, because allocators are foreign code. @throws {ArgumentError | AllocationError} */
export function allocateFrom(allocator: AllocatorLike, byteSize: number, byteAlignment: number): MemorySegment {
  let segment: unknown
  if (typeof allocator === 'function') {
    segment = allocator(byteSize, byteAlignment)
  } else if (hasAllocate(allocator)) {
    segment = allocator.allocate(byteSize, byteAlignment)
  } else if (isScope(allocator)) {
    segment = MemorySegment.allocateNative(byteSize, byteAlignment, allocator)
  } else {
    throw wrongType('allocator', 'a scope, or an object with a method allocate(byteSize, byteAlignment)', allocator)
  }
  if (!(segment instanceof Segment) || segment.byteSize < byteSize) {
    const received = segment instanceof Segment ? `${segment.byteSize} bytes` : describe(segment)
    throw badResult(`a segment of ${byteSize} bytes`, received, copyHint(segment))
  }
  const { block, base } = segment
  if (!isAligned(block, base, byteAlignment)) {
    throw badResult(`memory aligned to ${byteAlignment}`, hex(block.address + base))
  }
  const typed = segment instanceof MemorySegment ? segment : MemorySegment.ofSegment(segment)
  return typed.byteSize === byteSize ? typed : typed.asSlice(0, byteSize)
}

/** Most alignments are decided by small integers, because the remainder of an address is a division of doubles. */
function isAligned({ skew, address }: Block, base: number, byteAlignment: number): boolean {
  return (byteAlignment <= 8 ? (skew + base) & (byteAlignment - 1) : (address + base) % byteAlignment) === 0
}

/** The method is read twice, so an allocator may change it meanwhile. What it returns is checked. */
function hasAllocate(allocator: Exclude<AllocatorLike, AllocateFunction>): allocator is NativeAllocator {
  return (
    typeof allocator === 'object' && allocator !== null && typeof (allocator as NativeAllocator).allocate === 'function'
  )
}

function badResult(expected: string, received: string, hint?: string): AllocationError {
  return new AllocationError(`the allocator must return ${expected}, got ${received}`, {
    hint,
    details: { expected, received },
  })
}
