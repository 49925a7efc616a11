import type { Tensor, TensorType } from '@tenon/core'
import {
  f32,
  hostCall,
  s64,
  type Attribute,
  type AttributeDictionary,
  type AttributeValue,
  type CallResults,
  type CustomCall,
  type ResultSpec,
} from '@tenon/custom-call'
import { kernels } from './kernels.ts'
import { expectTypeOf, test } from 'vitest'

declare const call: CustomCall
declare const x: Tensor

test('a helper gives an attribute for a value and a type for a shape', () => {
  expectTypeOf(f32(1)).toEqualTypeOf<Attribute>()
  expectTypeOf(s64(1n)).toEqualTypeOf<Attribute>()
  expectTypeOf(f32([2])).toEqualTypeOf<TensorType>()
  // @ts-expect-error a float is no bigint
  f32(1n)
})

test('one result comes as it is, several as a tuple', () => {
  expectTypeOf(call([x], { results: [f32([2])] })).toEqualTypeOf<Tensor>()
  expectTypeOf(call([x], { results: [f32([2]), x] })).toEqualTypeOf<readonly [Tensor, Tensor]>()
  expectTypeOf(hostCall(kernels, 'do_custom_call')([x], { results: [x] })).toEqualTypeOf<Tensor>()
  expectTypeOf<CallResults<readonly ResultSpec[]>>().toEqualTypeOf<Tensor | readonly Tensor[]>()
})

test('a bare number is no attribute', () => {
  expectTypeOf<number>().not.toExtend<AttributeValue>()
  expectTypeOf<number[]>().not.toExtend<AttributeValue>()
  expectTypeOf<{ deep: { eps: Attribute; list: Float32Array; n: bigint } }>().toExtend<AttributeDictionary>()
})
