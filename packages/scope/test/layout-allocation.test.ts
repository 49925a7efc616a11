import {
  AlignmentError,
  ArgumentError,
  gcAllocator,
  processAllocator,
  ScopeClosedError,
  type Segment,
} from '@tenon/core'
import { describe, expect, test } from 'vitest'
import { MemoryLayout, MemorySegment, NativeAllocator, NativeScope, ResourceScope } from '../src/index.ts'

const { int8, int32, float64 } = MemoryLayout
const wide = MemoryLayout.struct({ id: int8, x: float64 }).withByteAlignment(64)
const open = MemoryLayout.struct({ count: int32, values: MemoryLayout.sequence(int32) })

const allocators = {
  'NativeScope.ofConfined()': () => NativeScope.ofConfined(),
  'NativeScope.ofShared()': () => NativeScope.ofShared(),
  'ResourceScope.ofShared()': () => ResourceScope.ofShared(),
  'NativeAllocator.ofMalloc()': () => NativeAllocator.ofMalloc(() => ResourceScope.ofImplicit()),
  'NativeAllocator.ofSlices()': () => NativeAllocator.ofSlices(MemorySegment.allocateNative(1024, 64)),
  'NativeAllocator.ofPrefix()': () => NativeAllocator.ofPrefix(MemorySegment.allocateNative(1024, 64)),
}

describe.each(Object.entries(allocators))('%s', (_, make) => {
  test('allocates the size and the alignment of a layout', () => {
    const allocator = make()
    const segment = allocator.allocate(wide)
    expect([segment.byteSize, segment.address % 64n]).toEqual([16, 0n])
    expect(allocator.allocate(int8).byteSize).toBe(1)
    expect(allocator.allocate(MemoryLayout.struct({})).byteSize).toBe(0)
    expect(allocator.allocate(MemoryLayout.sequence(float64, 9)).byteSize).toBe(72)
  })

  test('refuses a layout without a size', () => {
    for (const layout of [open, MemoryLayout.sequence(int8)])
      expect(() => make().allocate(layout as never)).toThrow(/must have a size/)
  })

  test('allocateFrom() writes values of a layout to memory of their size', () => {
    const allocator = make()
    const numbers = allocator.allocateFrom(float64, 1, 2.5)
    expect(numbers.toArray(float64)).toEqual(new Float64Array([1, 2.5]))
    const pointer = allocator.allocateFrom(MemoryLayout.address, MemorySegment.ofAddress(4096))
    expect(pointer.get(MemoryLayout.address, 0).address).toBe(4096n)
    expect(allocator.allocateFrom(wide, numbers).getFloat64(8)).toBe(2.5)
  })

  test('allocateFrom() refuses values and layouts as NativeAllocator.allocateFrom() does', () => {
    const allocator = make()
    const both = (layout: never, value: never): string[] =>
      [() => allocator.allocateFrom(layout, value), () => NativeAllocator.allocateFrom(allocator, layout, value)].map(
        (allocate) => {
          try {
            return String(allocate())
          } catch (error) {
            return (error as Error).name
          }
        },
      )
    expect(both(int8 as never, 200 as never)).toEqual(['ArgumentRangeError', 'ArgumentRangeError'])
    expect(both(int8 as never, 'x' as never)).toEqual(['ArgumentError', 'ArgumentError'])
    expect(both(open as never, 1 as never)).toEqual(['ArgumentError', 'ArgumentError'])
    expect(both({ byteSize: 4 } as never, 1 as never)).toEqual(['ArgumentError', 'ArgumentError'])
    expect(both(null as never, 1 as never)).toEqual(['ArgumentError', 'ArgumentError'])
  })
})

test.each([
  ['gcAllocator', gcAllocator],
  ['processAllocator', processAllocator],
])('allocateFrom() of %s returns a segment with typed access', (_, allocator) => {
  const segment = allocator.allocateFrom(int32, 7, 8)
  expect(segment).toBeInstanceOf(MemorySegment)
  expect([segment.getInt32(4), segment.byteSize]).toEqual([8, 8])
  expect(() => allocator.allocateFrom({} as never, 1 as never)).toThrow(ArgumentError)
})

test('an object that inherits from a scope allocates values in the scope', () => {
  const scope = NativeScope.ofConfined()
  const child = Object.create(scope) as typeof scope
  const values = child.allocateFrom(int32, 5)
  expect([values.getInt32(0), child.allocate(int32).scope === scope, Object.keys(child)]).toEqual([5, true, []])
  scope.close()
})

test('the method allocate() of a user gets the size and the alignment of the layout', () => {
  const requests: [number, number][] = []
  const allocate = (byteSize: number, byteAlignment: number): Segment => {
    requests.push([byteSize, byteAlignment])
    return gcAllocator.allocate(byteSize, byteAlignment)
  }
  NativeAllocator.allocateFrom(allocate, float64, 1, 2, 3)
  NativeAllocator.allocateFrom({ allocate }, int8)
  expect(requests).toEqual([
    [24, 8],
    [0, 1],
  ])
})

test('allocateNative() takes a layout with or without a scope', () => {
  const scope = ResourceScope.ofConfined()
  const segment = MemorySegment.allocateNative(wide, scope)
  expect([segment.byteSize, segment.address % 64n, segment.scope]).toEqual([16, 0n, scope])
  expect(MemorySegment.allocateNative(float64).byteSize).toBe(8)
  expect(() => MemorySegment.allocateNative(open as never, scope)).toThrow(/must have a size/)
  expect(() => MemorySegment.allocateNative(wide, 64 as never)).toThrow(/scope must be a ResourceScope/)
  for (const value of [null, {}, '8', undefined, { byteSize: 8, byteAlignment: 8 }])
    expect(() => MemorySegment.allocateNative(value as never, scope)).toThrow(ArgumentError)
  scope.close()
})

test('allocateNative() takes a size with or without an alignment and a scope', () => {
  const scope = ResourceScope.ofConfined()
  const segment = MemorySegment.allocateNative(100, scope)
  expect([segment.byteSize, segment.scope]).toEqual([100, scope])
  expect(MemorySegment.allocateNative(8, 64, scope).scope).toBe(scope)
  expect(MemorySegment.allocateNative(8, undefined, scope).scope).toBe(scope)
  expect(() => MemorySegment.allocateNative(8, {} as never)).toThrow(/scope must be a ResourceScope/)
  expect(() => MemorySegment.allocateNative(8, null as never)).toThrow(/scope must be a ResourceScope/)
  expect(() => MemorySegment.allocateNative(8, scope as never, scope)).toThrow(/byteAlignment must be/)
  expect(() => MemorySegment.allocateNative(8, '8' as never)).toThrow(/byteAlignment must be/)
  scope.close()
  expect(() => MemorySegment.allocateNative(8, scope)).toThrow(ScopeClosedError)
})

test('arguments in the order of Java are refused with the order that is meant', () => {
  const hintOf = (use: () => unknown): string | undefined => {
    try {
      use()
    } catch (error) {
      return (error as ArgumentError).hint
    }
    return undefined
  }
  const scope = ResourceScope.ofConfined()
  expect(hintOf(() => MemoryLayout.sequence(10 as never, float64 as never))).toMatch(/layout before the count/)
  expect(hintOf(() => MemoryLayout.struct(float64 as never))).toMatch(/MemoryLayout\.struct\(\{ x/)
  expect(hintOf(() => NativeAllocator.ofMalloc(scope as never))).toMatch(/Pass the function itself/)
  expect(hintOf(() => MemorySegment.mapFile('file', 0 as never, 100 as never))).toMatch(/mapFile\(path, scope/)
  const handle = MemoryLayout.varHandle(MemoryLayout.sequence(float64, 3), MemoryLayout.element())
  expect(hintOf(() => handle.get(MemorySegment.allocateNative(24), 1))).toMatch(/offset in bytes first/)
  scope.close()
})

test('asSlice() takes a layout, and checks its alignment', () => {
  const segment = MemorySegment.allocateNative(64, 64)
  expect([segment.asSlice(8, float64).byteSize, segment.asSlice(8, float64).address % 8n]).toEqual([8, 0n])
  expect(() => segment.asSlice(4, float64)).toThrow(AlignmentError)
  expect(() => segment.asSlice(60, float64)).toThrow(/must lie inside/)
  for (const value of [null, {}]) expect(() => segment.asSlice(0, value as never)).toThrow(ArgumentError)
})

test('close() of a segment whose memory the garbage collector owns throws', () => {
  for (const segment of [
    MemorySegment.allocateNative(8),
    MemorySegment.ofAddress(4096),
    MemorySegment.ofBuffer(new Uint8Array(8)),
    MemorySegment.ofSegment(gcAllocator.allocate(8)),
  ]) {
    expect(() => segment.scope.close()).toThrow(/cannot be closed, because the garbage collector owns its memory/)
    segment.scope.acquire().release()
  }
  const segment = MemorySegment.allocateNative(8, 8, ResourceScope.ofConfined())
  const hold = segment.scope.acquire()
  expect(() => segment.scope.close()).toThrow(/held|used by 1 hold/)
  hold.release()
  segment.scope.close()
  expect(() => segment.getInt8(0)).toThrow(/closed/)
})
