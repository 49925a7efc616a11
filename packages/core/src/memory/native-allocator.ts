import type { Segment } from './segment.ts'

/**
 * An allocator of native memory. Every package that needs memory accepts one.
 *
 * The memory is zeroed unless the allocator documents otherwise. `byteAlignment` is a power of two; the default is 16.
 */
export interface NativeAllocator {
  /** @throws {AllocationError} if memory is exhausted. @throws {ArgumentError} if a number is not valid. */
  allocate(byteSize: number, byteAlignment?: number): Segment
}
