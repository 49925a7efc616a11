import { checkSize, wrongType } from '@tenon/core/internal'
import { type Layout, sizeOf } from '../layout/memory-layout.ts'
import type { MemorySegment } from '../segment/memory-segment.ts'
import { allocateFrom, type AllocatorLike } from './check-allocator.ts'

/** Allocates memory for `count` values of a layout. @throws the errors of the allocator */
export function allocateFor(layout: Layout, allocator: AllocatorLike, count: number): MemorySegment {
  const size = checkSize(count, 'count', 'elements') * sizeOf(layout)
  return allocateFrom(allocator, checkSize(size, 'count * size'), layout.byteAlignment)
}

/** Allocates memory for values of a layout, and writes the values: the method `allocateIn` of every layout. */
export function allocateValues<Value>(
  layout: Layout<Value>,
  allocator: AllocatorLike,
  values: readonly Value[],
): MemorySegment {
  if (!Array.isArray(values)) throw wrongType('values', 'an array', values)
  const segment = allocateFor(layout, allocator, values.length)
  values.forEach((value, i) => segment.setAtIndex(layout, i, value))
  return segment
}
