import type { NativeAllocator, Segment, Tensor } from '@tenon/core'
import { expectTypeOf, test } from 'vitest'
import { MemoryLayout, type MemorySegment } from '../src/index.ts'
import { type Downcall, type FunctionSignature, Linker, type WithErrno } from '../src/linker.ts'

declare const symbol: MemorySegment
const pair = MemoryLayout.struct({ quot: MemoryLayout.int32, rem: MemoryLayout.int32 })
type Pointer = Segment | Tensor | ArrayBufferView | null

test('a call takes the arguments that its signature declares', () => {
  const types = ['bool', 'int8', 'uint32', 'int64', 'float32', 'float64', 'pointer'] as const
  const call = Linker.downcall(symbol, { parameters: types })
  type Integer = number | bigint
  expectTypeOf(call).parameters.toEqualTypeOf<[boolean, Integer, Integer, Integer, number, number, Pointer]>()
  expectTypeOf(call.async).parameters.toEqualTypeOf<[boolean, Integer, Integer, Integer, number, number, Pointer]>()
  expectTypeOf(Linker.downcall(symbol, {})).parameters.toEqualTypeOf<[]>()
  const sum = Linker.downcall(symbol, { result: 'float64', parameters: ['float64', 'pointer'] })
  // @ts-expect-error: a bigint is no double
  expectTypeOf(sum).toBeCallableWith(1n, null)
  // @ts-expect-error: an address is no pointer
  expectTypeOf(sum).toBeCallableWith(1, 4096n)
  // @ts-expect-error: an argument is missing
  expectTypeOf(sum).toBeCallableWith(1)
})

test('a call returns what its signature declares', () => {
  const signature = <const Result extends FunctionSignature['result']>(
    result: Result,
  ): { readonly result: Result } => ({
    result,
  })
  expectTypeOf(Linker.downcall(symbol, {})).returns.toEqualTypeOf<undefined>()
  expectTypeOf(Linker.downcall(symbol, signature('void'))).returns.toEqualTypeOf<undefined>()
  expectTypeOf(Linker.downcall(symbol, signature('bool'))).returns.toEqualTypeOf<boolean>()
  expectTypeOf(Linker.downcall(symbol, signature('uint16'))).returns.toEqualTypeOf<number>()
  expectTypeOf(Linker.downcall(symbol, signature('uint64'))).returns.toEqualTypeOf<bigint>()
  expectTypeOf(Linker.downcall(symbol, signature('pointer'))).returns.toEqualTypeOf<MemorySegment>()
  const withErrno = Linker.downcall(symbol, signature('int32'), { captureErrno: true })
  expectTypeOf(withErrno).returns.toEqualTypeOf<WithErrno<number>>()
  expectTypeOf(withErrno.async).returns.toEqualTypeOf<Promise<WithErrno<number>>>()
})

test('a function that returns a struct takes an allocator, and structs by value are segments', () => {
  const div = Linker.downcall(symbol, { result: pair, parameters: ['int32', pair] })
  expectTypeOf(div).returns.toEqualTypeOf<MemorySegment>()
  expectTypeOf(div).parameter(1).toEqualTypeOf<number | bigint>()
  expectTypeOf(div).parameter(2).toEqualTypeOf<Segment>()
  expectTypeOf<NativeAllocator>().toExtend<Parameters<typeof div>[0]>()
  // @ts-expect-error: the allocator is missing
  expectTypeOf(div).toBeCallableWith(1, symbol)
})

test('a signature that is known only at run time takes any arguments', () => {
  const any = Linker.downcall(symbol, {} as FunctionSignature)
  expectTypeOf(any).toEqualTypeOf<Downcall>()
  expectTypeOf(any).toBeCallableWith(1, 2n, null, true)
})
