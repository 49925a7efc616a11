import type { Segment } from './segment.ts'

/**
 * The one-method allocator: every package that needs memory takes one.
 *
 * Memory is zeroed unless the allocator says otherwise. `byteAlignment` is a power of two, 16 without it.
 */
export interface NativeAllocator {
  /** @throws {AllocationError} if there is no memory. @throws {ArgumentError} if a number is not valid. */
  allocate(byteSize: number, byteAlignment?: number): Segment
}
