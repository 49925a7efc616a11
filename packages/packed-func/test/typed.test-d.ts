import { expectTypeOf, test } from 'vitest'
import type { Tensor } from '@tenon/core'
import {
  getGlobal,
  initApi,
  t,
  type Argument,
  type CallResult,
  type NativeObject,
  type PackedFunc,
  type Value,
} from '../src/index.ts'

declare const f: PackedFunc

test('parameters and results follow from the descriptors', () => {
  const call = f.typed([t.int, t.str], t.float)
  expectTypeOf(call).parameters.toEqualTypeOf<[number | bigint, string]>()
  expectTypeOf(call).returns.toEqualTypeOf<number>()
  expectTypeOf(f.typed([], t.none)).returns.toBeNull()
  expectTypeOf(f.typed([t.array(t.int32)], t.map(t.str, t.bool))).returns.toEqualTypeOf<Map<string, boolean>>()
  expectTypeOf(f.typed([t.tensor], t.optional(t.tensor))).returns.toEqualTypeOf<Tensor | null>()
})

test('a typed function is a value of packed functions', () => {
  const call = f.typed([t.int], t.float)
  expectTypeOf(call).toExtend<Argument>()
  expectTypeOf(call).toExtend<NativeObject>()
  expectTypeOf(call.tryCall(1)).toEqualTypeOf<CallResult<number>>()
})

test('trailing optional parameters may be omitted', () => {
  const call = f.typed([t.int, t.optional(t.str)], t.bool)
  expectTypeOf(call).toBeCallableWith(1)
  expectTypeOf(call).toBeCallableWith(1, 'x')
  expectTypeOf(call).toBeCallableWith(1, null)
  // @ts-expect-error the first is required
  call()
  // @ts-expect-error the second is text
  call(1, 2)
})

test('wrong types do not compile', () => {
  const call = getGlobal('x').typed([t.float, t.bool], t.none)
  expectTypeOf(call).toBeCallableWith(1, true)
  // @ts-expect-error text is not a number
  call('1', true)
  // @ts-expect-error one argument too many
  call(1, true, 2)
})

test('a schema types the functions of a prefix', () => {
  const api = initApi('x', {}, { add: [[t.int, t.int], t.int], name: [[], t.str] })
  expectTypeOf(api.name()).toBeString()
  // @ts-expect-error text is not an int
  api.add(1, 'x')
  expectTypeOf(initApi('x')['other']!).toEqualTypeOf<PackedFunc>()
})

test('a packed function is called with any values', () => {
  expectTypeOf(f).parameters.toEqualTypeOf<Argument[]>()
  expectTypeOf(f).returns.toEqualTypeOf<Value>()
  expectTypeOf(f.async).parameters.toEqualTypeOf<Argument[]>()
  expectTypeOf(f.with({}).async).returns.toEqualTypeOf<Promise<Value>>()
  // @ts-expect-error call() would lose the first value
  f.call(1, 2)
})

test('the asynchronous forms of a typed function have its types', () => {
  const call = f.typed([t.int, t.optional(t.str)], t.float)
  expectTypeOf(call.async).toBeCallableWith(1)
  expectTypeOf(call.async).returns.toEqualTypeOf<Promise<number>>()
  expectTypeOf(call.with({}).async).toBeCallableWith(1, 'x')
  // @ts-expect-error the second is text
  void call.with({}).async(1, 2)
})
