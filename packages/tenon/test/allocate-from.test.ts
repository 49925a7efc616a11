import { gcAllocator, processAllocator } from '@tenon/core'
import { SharedMemory } from '@tenon/pools'
import { MemoryLayout, MemorySegment, NativeScope } from '@tenon/scope'
import { expect, test } from 'vitest'

test('every allocator writes values of a layout to its memory', () => {
  const memory = SharedMemory.open()
  const arena = memory.arena()
  for (const allocator of [
    NativeScope.ofConfined(),
    NativeScope.ofShared(),
    gcAllocator,
    processAllocator,
    memory,
    arena,
  ]) {
    const segment = allocator.allocateFrom(MemoryLayout.float64, 1, 2.5, 3)
    expect(segment).toBeInstanceOf(MemorySegment)
    expect([...(segment.toArray(MemoryLayout.float64) as Float64Array)]).toEqual([1, 2.5, 3])
    expect(() => allocator.allocateFrom(MemoryLayout.int8, 200)).toThrow(/int8|-128/)
    expect(() => allocator.allocateFrom('int8' as never)).toThrow(/layout must be a layout/)
  }
  arena.close()
  memory.close()
})
