import type { Hold, Lifetime } from '@tenon/core'
import { gcAllocator } from '@tenon/core'
import { expectTypeOf, test } from 'vitest'
import { type Layout, MemoryLayout, MemorySegment, NativeAllocator, NativeScope, ResourceScope } from '../src/index.ts'

const { int32, float64, address } = MemoryLayout
const scope = NativeScope.ofConfined()
const pair = MemoryLayout.struct({ a: int32, b: float64 })
const open = MemoryLayout.struct({ count: int32, rest: MemoryLayout.sequence(int32) })

test('the size of a layout is a number where it is known', () => {
  expectTypeOf(int32.byteSize).toEqualTypeOf<number>()
  expectTypeOf(address.withName('p').byteSize).toEqualTypeOf<number>()
  expectTypeOf(MemoryLayout.padding(4).byteSize).toEqualTypeOf<number>()
  expectTypeOf(pair.byteSize).toEqualTypeOf<number>()
  expectTypeOf(pair.withByteAlignment(16).byteSize).toEqualTypeOf<number>()
  expectTypeOf(MemoryLayout.struct({}).byteSize).toEqualTypeOf<number>()
  expectTypeOf(MemoryLayout.struct({ pair, n: int32 }).byteSize).toEqualTypeOf<number>()
  expectTypeOf(MemoryLayout.union({ a: int32, pair }).byteSize).toEqualTypeOf<number>()
  expectTypeOf(MemoryLayout.sequence(pair, 3).byteSize).toEqualTypeOf<number>()
  expectTypeOf(MemoryLayout.sequence(pair).byteSize).toEqualTypeOf<undefined>()
  expectTypeOf(MemoryLayout.sequence(pair).withElementCount(2).byteSize).toEqualTypeOf<number>()
  expectTypeOf(MemoryLayout.sequence(pair, 4).reshape(2, 2).byteSize).toEqualTypeOf<number>()
  expectTypeOf(open.byteSize).toEqualTypeOf<number | undefined>()
  expectTypeOf(pair).toExtend<Layout<MemorySegment, number>>()
  expectTypeOf(open).not.toExtend<Layout<MemorySegment, number>>()
})

test('allocations take a layout whose size is known', () => {
  expectTypeOf(MemorySegment.allocateNative(pair.byteSize, pair.byteAlignment, scope)).toEqualTypeOf<MemorySegment>()
  expectTypeOf(MemorySegment.allocateNative(pair, scope)).toEqualTypeOf<MemorySegment>()
  expectTypeOf(scope.allocate(pair)).toEqualTypeOf<MemorySegment>()
  expectTypeOf(NativeAllocator.ofMalloc(() => scope).allocate(pair)).toEqualTypeOf<MemorySegment>()
  // @ts-expect-error: the size of the layout is not known
  scope.allocate(open)
  // @ts-expect-error: the size of the layout is not known
  MemorySegment.allocateNative(open, scope)
  // @ts-expect-error: a layout has an alignment
  scope.allocate(pair, 8)
})

test('allocateFrom() takes values of the layout, and returns a MemorySegment', () => {
  expectTypeOf(scope.allocateFrom(int32, 1, 2)).toEqualTypeOf<MemorySegment>()
  expectTypeOf(gcAllocator.allocateFrom(address, MemorySegment.NULL)).toEqualTypeOf<MemorySegment>()
  expectTypeOf(NativeAllocator.allocateFrom(scope, MemoryLayout.int64, 1n)).toEqualTypeOf<MemorySegment>()
  // @ts-expect-error: a bigint is not an int32
  scope.allocateFrom(int32, 1n)
  // @ts-expect-error: a text is not an int64
  gcAllocator.allocateFrom(MemoryLayout.int64, '1')
})

test('the scope of a segment can be closed and held', () => {
  const { scope: owner } = MemorySegment.allocateNative(8, 8, ResourceScope.ofConfined())
  expectTypeOf(owner).toEqualTypeOf<Lifetime>()
  expectTypeOf(owner.close).returns.toEqualTypeOf<void>()
  expectTypeOf(owner.acquire()).toEqualTypeOf<Hold>()
})
