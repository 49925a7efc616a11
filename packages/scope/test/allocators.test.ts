import {
  AlignmentError,
  AllocationError,
  ArgumentError,
  gcAllocator,
  type NativeAllocator as Allocator,
  ReadOnlyError,
  ScopeClosedError,
} from '@tenon/core'
import { describe, expect, test } from 'vitest'
import { MemoryLayout, MemorySegment, NativeAllocator, NativeScope, ResourceScope, toCString } from '../src/index.ts'
import type { AllocatorLike, ConfinedScope } from '../src/index.ts'

const bad = {
  sizes: [-1, 0.5, Number.NaN, Infinity, 2 ** 53, -1n, 2n ** 64n, null, '8', {}],
  alignments: [0, -1, 3, 0.5, Number.NaN, 2 ** 31, 2 ** 53, 0n, null, '8'],
}

const allocators = {
  malloc: () => NativeAllocator.ofMalloc(() => ResourceScope.ofImplicit()),
  slicing: () => NativeAllocator.ofSlices(MemorySegment.allocateNative(1024, 64)),
  prefix: () => NativeAllocator.ofPrefix(MemorySegment.allocateNative(1024, 64)),
}

for (const [name, make] of Object.entries(allocators)) {
  describe(name, () => {
    test('throws ArgumentError for invalid numbers', () => {
      const allocator = make()
      for (const size of bad.sizes)
        expect(() => allocator.allocate(size as number, 8), String(size)).toThrow(ArgumentError)
      for (const alignment of bad.alignments) {
        expect(() => allocator.allocate(8, alignment as number), String(alignment)).toThrow(ArgumentError)
      }
      for (const count of [-1, 0.5, 2 ** 53, 2 ** 52]) {
        expect(() => NativeAllocator.allocate(allocator, MemoryLayout.int64, count)).toThrow(RangeError)
      }
    })

    test('reads back every kind of value in both byte orders', () => {
      const { int8, uint16, int32, float64, int64 } = MemoryLayout
      for (const [layout, value] of [
        [int8, -1],
        [uint16, 60_000],
        [int32, -70_000],
        [float64, 1.5],
        [int64, -5n],
      ] as const) {
        for (const ordered of [layout, layout.withOrder('big')]) {
          const segment = NativeAllocator.allocateFrom(make(), ordered as typeof int8, value as number, value as number)
          expect(segment.byteSize).toBe(2 * layout.byteSize)
          expect(segment.getAtIndex(ordered as typeof int8, 1)).toBe(value)
        }
      }
    })
  })
}

describe('ofMalloc()', () => {
  test('calls the factory for each allocation, after checking the numbers', () => {
    const scopes: ConfinedScope[] = []
    const allocator = NativeAllocator.ofMalloc(() => {
      scopes.push(ResourceScope.ofConfined())
      return scopes.at(-1)!
    })
    const [a, b] = [allocator.allocate(8), allocator.allocate(8)]
    expect(() => allocator.allocate(-1)).toThrow(ArgumentError)
    expect(scopes).toHaveLength(2)
    expect([a.scope, b.scope]).toEqual(scopes)
    scopes[0]!.close()
    expect(() => a.getInt32(0)).toThrow(ScopeClosedError)
    expect(b.getInt32(0)).toBe(0)
    scopes[1]!.close()
    expect(() => allocator.allocate(8).getInt32(0)).not.toThrow()
    scopes[2]!.close()
  })

  test('refuses a factory that does not return a scope', () => {
    for (const factory of [null, undefined, 1, ResourceScope.global]) {
      expect(() => NativeAllocator.ofMalloc(factory as never)).toThrow(ArgumentError)
    }
    for (const scope of [null, undefined, {}, { isAlive: true, checkAlive() {} }]) {
      expect(() => NativeAllocator.ofMalloc(() => scope as never).allocate(8)).toThrow(ArgumentError)
    }
  })
})

describe('ofSlices()', () => {
  test('hands out consecutive slices, aligned by their addresses', () => {
    const memory = MemorySegment.allocateNative(64, 64).asSlice(1)
    const allocator = NativeAllocator.ofSlices(memory)
    expect(allocator.allocate(1, 1).address).toBe(memory.address)
    const aligned = allocator.allocate(8, 8)
    expect(aligned.address % 8n).toBe(0n)
    expect(aligned.address - memory.address).toBe(7n)
    expect(aligned.scope).toBe(memory.scope)
  })

  test('a request that does not fit leaves room for a smaller one', () => {
    const allocator = NativeAllocator.ofSlices(MemorySegment.allocateNative(16, 16))
    allocator.allocate(8, 1)
    expect(() => allocator.allocate(9, 1)).toThrow(AllocationError)
    expect(() => allocator.allocate(9, 1)).toThrow(RangeError)
    expect(allocator.allocate(8, 1).byteSize).toBe(8)
    expect(() => allocator.allocate(1, 1)).toThrow(AllocationError)
    expect(allocator.allocate(0, 1).byteSize).toBe(0)
  })

  test('does not zero the memory', () => {
    const memory = MemorySegment.allocateNative(16, 16).fill(7)
    expect(NativeAllocator.ofSlices(memory).allocate(4).getUint8(0)).toBe(7)
    expect(NativeAllocator.ofPrefix(memory).allocate(4).getUint8(0)).toBe(7)
  })

  test('refuses allocations after the scope of its memory has closed', () => {
    const scope = NativeScope.ofConfined()
    const allocator = NativeAllocator.ofSlices(scope.allocate(16))
    scope.close()
    expect(() => allocator.allocate(4)).toThrow(ScopeClosedError)
  })
})

describe('ofPrefix()', () => {
  test('hands out the same start each time', () => {
    const memory = MemorySegment.allocateNative(64, 64)
    const allocator = NativeAllocator.ofPrefix(memory)
    for (const size of [0, 1, 64]) {
      const segment = allocator.allocate(size, 64)
      expect([segment.address, segment.byteSize]).toEqual([memory.address, size])
    }
    expect(() => allocator.allocate(65)).toThrow(AllocationError)
    expect(() => NativeAllocator.ofPrefix(memory.asSlice(1)).allocate(8, 2)).toThrow(AlignmentError)
  })
})

test('ofSlices() and ofPrefix() refuse read-only memory', () => {
  const readOnly = MemorySegment.allocateNative(8).asReadOnly()
  expect(() => NativeAllocator.ofSlices(readOnly)).toThrow(ReadOnlyError)
  expect(() => NativeAllocator.ofPrefix(readOnly)).toThrow(ReadOnlyError)
  for (const segment of [null, undefined, {}, new Uint8Array(8)]) {
    expect(() => NativeAllocator.ofSlices(segment as never)).toThrow(ArgumentError)
    expect(() => NativeAllocator.ofPrefix(segment as never)).toThrow(ArgumentError)
  }
})

describe('an allocator is an object or a function', () => {
  const requests: [number, number][] = []
  const custom: Allocator = {
    allocate(byteSize, byteAlignment = 16) {
      requests.push([byteSize, byteAlignment])
      return gcAllocator.allocate(byteSize, byteAlignment)
    },
  }
  const asFunction: AllocatorLike = (byteSize, byteAlignment) => custom.allocate(byteSize, byteAlignment)

  for (const [name, allocator] of Object.entries({ object: custom, function: asFunction })) {
    test(`as ${name}, for all helpers`, () => {
      requests.length = 0
      expect(toCString('abc', allocator).getString(0)).toBe('abc')
      expect(NativeAllocator.allocate(allocator, MemoryLayout.int64, 3).byteSize).toBe(24)
      expect(NativeAllocator.allocateFrom(allocator, MemoryLayout.int16, 1, 2).toArray(MemoryLayout.int16)).toEqual(
        new Int16Array([1, 2]),
      )
      expect(requests).toEqual([
        [4, 1],
        [24, 8],
        [4, 2],
      ])
    })
  }

  test('the result of an allocator is checked', () => {
    for (const result of [undefined, null, {}, new Uint8Array(8), MemorySegment.allocateNative(2)]) {
      expect(() => toCString('abc', () => result as never)).toThrow(AllocationError)
    }
    expect(toCString('abc', () => MemorySegment.allocateNative(100)).byteSize).toBe(4)
    const odd = () => MemorySegment.allocateNative(9).asSlice(1)
    expect(() => NativeAllocator.allocate(odd, MemoryLayout.float64)).toThrow(/aligned to 8/)
    expect(toCString('abc', odd).byteSize).toBe(4)
    for (const allocator of [null, undefined, 1, {}, { allocate: 1 }]) {
      expect(() => toCString('abc', allocator as never)).toThrow(ArgumentError)
    }
    expect(() => toCString('abc', () => MemorySegment.allocateNative(4).asReadOnly())).toThrow(ReadOnlyError)
  })
})
