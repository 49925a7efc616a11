import type { Tensor, TensorType } from '@tenon/core'
import {
  defineTarget,
  f32,
  hostCall,
  maybe,
  optional,
  param,
  remaining,
  s64,
  targetCall,
  type Attribute,
  type AttributeDictionary,
  type AttributeValue,
  type CallResults,
  type CustomCall,
  type ResultSpec,
  type TargetRegistry,
  type TypedHandler,
} from '@tenon/custom-call'
import { kernels } from './kernels.ts'
import { expectTypeOf, test } from 'vitest'

declare const call: CustomCall
declare const x: Tensor

test('a helper makes an attribute from a value and a type from a shape', () => {
  expectTypeOf(f32(1)).toEqualTypeOf<Attribute>()
  expectTypeOf(s64(1n)).toEqualTypeOf<Attribute>()
  expectTypeOf(f32([2])).toEqualTypeOf<TensorType<'float32'>>()
  // @ts-expect-error a float is not a bigint
  f32(1n)
})

test('one result is returned as it is, several as a tuple', () => {
  expectTypeOf(call([x], { results: [f32([2])] })).toEqualTypeOf<Tensor>()
  expectTypeOf(call([x], { results: [f32([2]), x] })).toEqualTypeOf<readonly [Tensor, Tensor]>()
  expectTypeOf(hostCall(kernels, 'do_custom_call')([x], { results: [x] })).toEqualTypeOf<Tensor>()
  expectTypeOf<CallResults<readonly ResultSpec[]>>().toEqualTypeOf<Tensor | readonly Tensor[]>()
})

test('a bare number is not an attribute', () => {
  expectTypeOf<number>().not.toExtend<AttributeValue>()
  expectTypeOf<number[]>().not.toExtend<AttributeValue>()
  expectTypeOf<{ deep: { eps: Attribute; list: Float32Array; n: bigint } }>().toExtend<AttributeDictionary>()
})

const scaled = defineTarget('scaled', {
  operands: [param('f32', ['n', 'd']), f32([4]), optional(param('s32')), remaining(param('f32', [null]))],
  results: [param('f32', ['n']), param('f32', ['d'])],
  attrs: {
    eps: 'f32',
    axes: 's64[]',
    mode: maybe('string', 'fast'),
    seed: maybe('u64'),
    range: { low: 'f64', high: 'f64' },
    exact: 'pred',
    at: 'pointer',
  },
})
const normal = defineTarget('normal', { operands: [param('f32', ['n'])], results: [param('f32', ['n'])] })
declare const handler: TypedHandler

interface Both {
  readonly result0: Tensor
  readonly result1: Tensor
}
declare const registry: TargetRegistry

test('a declared target knows its operands and results', () => {
  const target = targetCall(scaled, handler)
  const attrs = { eps: 1e-5, axes: [0, 1n], range: { low: 0, high: 1 }, exact: true, at: x }
  expectTypeOf(target(x, x, attrs)).toEqualTypeOf<Both>()
  expectTypeOf(target(x, x, x, [x, x], attrs)).toEqualTypeOf<Both>()
  expectTypeOf(targetCall(normal, handler)(x)).toEqualTypeOf<Tensor>()
  expectTypeOf(targetCall(normal, handler)(x, { into: x })).toEqualTypeOf<Tensor>()
  // @ts-expect-error an operand is missing
  target(x, attrs)
  // @ts-expect-error attributes are missing
  target(x, x)
  // @ts-expect-error there is one operand too many
  targetCall(normal, handler)(x, x)
  const prepared = target.prepare([x, x], attrs)
  expectTypeOf(prepared.run).parameter(1).toExtend<readonly [Tensor, Tensor]>()
  expectTypeOf(targetCall(normal, handler).prepare([x]).bind)
    .parameter(0)
    .toEqualTypeOf<readonly [Tensor]>()
})

test('a declared target knows its attributes', () => {
  const target = targetCall(scaled, handler)
  const attrs = { eps: f32(1), axes: new BigInt64Array(1), range: { low: 0, high: 1 }, exact: true, at: 0n }
  expectTypeOf(target(x, x, { ...attrs, mode: 'slow', seed: 1n })).toEqualTypeOf<Both>()
  // @ts-expect-error text is not a number
  target(x, x, { ...attrs, eps: '1' })
  // @ts-expect-error the attribute is not declared
  target(x, x, { ...attrs, epsilon: 1 })
  // @ts-expect-error a part of the dictionary is missing
  target(x, x, { ...attrs, range: { low: 0 } })
})

test('a function for a declared target has the declared parameters', () => {
  registry.registerFunction('scaled', scaled, (operands, results, attrs) => {
    expectTypeOf(operands[0]).toEqualTypeOf<Tensor>()
    expectTypeOf(operands[2]).toEqualTypeOf<Tensor | undefined>()
    expectTypeOf(results).toExtend<readonly [Tensor, Tensor]>()
    expectTypeOf(attrs.eps).toEqualTypeOf<number>()
    expectTypeOf(attrs.axes).toEqualTypeOf<BigInt64Array>()
    expectTypeOf(attrs.mode).toEqualTypeOf<string>()
    expectTypeOf(attrs.seed).toEqualTypeOf<bigint | undefined>()
    expectTypeOf(attrs.range.low).toEqualTypeOf<number>()
    expectTypeOf(attrs.exact).toEqualTypeOf<boolean>()
    expectTypeOf(attrs.at).toEqualTypeOf<bigint>()
  })
})
