import { gcAllocator, Segment } from '@tenon/core'
import { expect, test } from 'vitest'
import { MemorySegment, NativeScope, toCString } from '../src/index.ts'

test('segments of every origin have the class and the fields of MemorySegment, in the order of its constructor', () => {
  using scope = NativeScope.ofConfined()
  const allocated = scope.allocate(16)
  const made = new MemorySegment(allocated.block, allocated.base, 16, 0)
  class Own extends MemorySegment {}
  const segments = [
    allocated,
    scope.allocate(0),
    scope.allocate(1 << 20),
    MemorySegment.allocateNative(8),
    MemorySegment.ofBuffer(new Uint8Array(8)),
    MemorySegment.ofAddress(4096),
    MemorySegment.ofAddress(2n ** 64n - 1n),
    MemorySegment.ofSegment(gcAllocator.allocate(8)),
    allocated.asSlice(8),
    allocated.asReadOnly(),
    allocated.reinterpret(8),
    MemorySegment.ofAddress(4096).reinterpret(8, scope),
    toCString('a long text', scope),
    new Own(allocated.block, 0, 8, 0),
  ]
  for (const segment of segments) {
    expect(segment).toBeInstanceOf(MemorySegment)
    expect(segment).toBeInstanceOf(Segment)
    expect(Object.getOwnPropertyDescriptors(segment)).toMatchObject(
      Object.fromEntries(
        Object.keys(made).map((key) => [key, { writable: true, enumerable: true, configurable: true }]),
      ),
    )
    expect(Object.keys(segment)).toEqual(Object.keys(made))
    if (segment instanceof Own) continue
    expect(Object.getPrototypeOf(segment)).toBe(MemorySegment.prototype)
    expect(segment.constructor).toBe(MemorySegment)
  }
  expect(allocated.asSlice(0)).toEqual(made)
})
