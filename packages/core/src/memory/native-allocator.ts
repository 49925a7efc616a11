import { wrongType } from '../errors/check-arguments.ts'
import type { Segment } from './segment.ts'

/**
 * An allocator of native memory. Every package that needs memory accepts one.
 *
 * The memory is zeroed unless the allocator documents otherwise. `byteAlignment` is a power of two; the default is 16.
 *
 * | allocator                    | memory is freed                       |
 * | ---------------------------- | ------------------------------------- |
 * | `gcAllocator`, the default   | when everything over it was collected |
 * | `processAllocator`           | at the end of the process             |
 * | a `NativeScope`              | when the scope is closed              |
 * | a `SharedMemory`             | when its tensors were collected       |
 * | an arena of a `SharedMemory` | when the arena is closed              |
 */
export interface NativeAllocator {
  /** @throws {AllocationError} if memory is exhausted. @throws {ArgumentError} if a number is not valid. */
  allocate(byteSize: number, byteAlignment?: number): Segment
}

/** A layout, as allocators see it: those of `@tenon/scope` allocate memory for their values. */
export interface AllocatingLayout<Value, Made extends Segment> {
  /** Allocates memory for values from an allocator, and writes the values. @throws the errors of the allocator */
  allocateIn(allocator: NativeAllocator, values: readonly Value[]): Made
}

/** An allocator that also writes values to the memory that it allocates. */
export interface ValueAllocator extends NativeAllocator {
  /**
   * Allocates memory for values of a layout of `@tenon/scope`, and writes the values. `NativeAllocator.allocateFrom()` of that package does
   * the same with any allocator.
   *
   * @throws the errors of `allocate()`. @throws {ArgumentError} if a value does not fit the layout.
   */
  allocateFrom<Value, Made extends Segment>(
    layout: AllocatingLayout<Value, Made>,
    ...values: readonly NoInfer<Value>[]
  ): Made
}

/** The method `allocateFrom` of every allocator. @throws as {@link ValueAllocator.allocateFrom} */
export function allocateFrom<Value, Made extends Segment>(
  allocator: NativeAllocator,
  layout: AllocatingLayout<Value, Made>,
  values: readonly Value[],
): Made {
  const { allocateIn } = (layout ?? {}) as Partial<typeof layout>
  if (typeof allocateIn === 'function') return allocateIn.call(layout, allocator, values)
  throw wrongType('layout', 'a layout', layout, 'Use a layout of @tenon/scope, for example MemoryLayout.int32.')
}
