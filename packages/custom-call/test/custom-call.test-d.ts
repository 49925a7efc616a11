import {
  parseSignature,
  type ForeignTensor,
  type OfferedStrings,
  type StringTensorLike,
  type Tensor,
  type TensorLike,
  type TensorType,
} from '@tenon/core'
import {
  f32,
  hostCall,
  s64,
  targetCall,
  type Attribute,
  type AttributeDictionary,
  type AttributeValue,
  type CallResults,
  type CustomCall,
  type Kernel,
  type ResultSpec,
  type TargetRegistry,
  type TypedHandler,
} from '@tenon/custom-call'
import { kernels } from './kernels.ts'
import { expectTypeOf, test } from 'vitest'

declare const call: CustomCall
declare const x: Tensor
declare const words: StringTensorLike

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

test('an operand of a listed call can be a tensor of another library', () => {
  const foreign = { data: Float32Array.of(1, 2), dims: [2] }
  expectTypeOf(call([x, foreign, Float32Array.of(1)], { results: [f32([2])] })).toEqualTypeOf<Tensor>()
  expectTypeOf(hostCall(kernels, 'do_custom_call')([x, [foreign]], { results: [x] })).toEqualTypeOf<Tensor>()
  // @ts-expect-error an array of numbers is no tensor
  call([[1, 2]], { results: [f32([2])] })
})

test('a bare number is not an attribute', () => {
  expectTypeOf<number>().not.toExtend<AttributeValue>()
  expectTypeOf<number[]>().not.toExtend<AttributeValue>()
  expectTypeOf<{ deep: { eps: Attribute; list: Float32Array; n: bigint } }>().toExtend<AttributeDictionary>()
})

const scaled = `(x: f32[n, ceildiv(d, 2)], table: f32[4] @donated, bias?: s32[...], t: token, ...rest: f32[?])
  -> (y: f32[n] @alias(table), counts: f32[max(d, 1)]);
  where n <= d, T in f32 | f64; eps: f32, axes: s64[], mode: enum("fast", "a, b; c") = 'fast';
  seed?: u64, range: { low: f64, high: float64, inner: { text: string = "x, y" } }, "a-b": bool, at: pointer; async
  -- Scales: by eps; and (or) more.`
const normal = '(x: f32[n]) -> (y: f32[n])'
declare const handler: TypedHandler

interface Both {
  readonly y: Tensor
  readonly counts: Tensor
}
declare const registry: TargetRegistry

test('a text knows its operands and results', () => {
  const target = targetCall(scaled, handler)
  const attrs = { eps: 1e-5, axes: [0, 1n], range: { low: 0, high: 1, inner: {} }, 'a-b': true, at: x }
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
  expectTypeOf(prepared.run).parameter(1).toEqualTypeOf<readonly [TensorLike, TensorLike]>()
  expectTypeOf(targetCall(normal, handler).prepare([x]).bind)
    .parameter(0)
    .toEqualTypeOf<readonly [TensorLike]>()
  // Tensors of other libraries are operands and results.
  const foreign = { data: new Float32Array(2), dims: [2] }
  expectTypeOf(target(foreign, new Float32Array(2), attrs)).toEqualTypeOf<Both>()
  prepared.run([foreign, x], [x, foreign])
  targetCall(normal, handler)(foreign, { into: foreign })
  // @ts-expect-error text is not a tensor
  target('x', x, attrs)
})

test('a text knows which operands and results are strings', () => {
  type Strings = StringTensorLike | OfferedStrings | ForeignTensor
  const ids = targetCall('(text: string[n], k: s64, more?: string<rfc24>[m]) -> (ids: s32[n, k])', handler)
  expectTypeOf(ids(words, x)).toEqualTypeOf<Tensor>()
  expectTypeOf(ids(words, x, words)).toEqualTypeOf<Tensor>()
  expectTypeOf(ids.async(words, x)).toEqualTypeOf<Promise<Tensor>>()
  // @ts-expect-error numbers are not strings
  ids(x, x)
  // @ts-expect-error strings are not numbers
  ids(words, words)
  // @ts-expect-error an array of JavaScript is not a string tensor
  ids(['a'], x)
  const prepared = ids.prepare([words, x])
  expectTypeOf(prepared.run).parameter(0).toEqualTypeOf<readonly [Strings, TensorLike, Strings?]>()
  // @ts-expect-error numbers are not strings
  prepared.run([x, x], [x])
  expectTypeOf(targetCall('(text: string) -> (same: string, n: s64)', handler)(words)).toEqualTypeOf<{
    readonly same: StringTensorLike
    readonly n: Tensor
  }>()
  const all = targetCall('(...texts: string<tflite>[n]) -> (same: string[n])', handler)
  expectTypeOf(all([words, words])).toEqualTypeOf<StringTensorLike>()
  registry.registerFunction('repeat', '(text: string[n], k: s64) -> (out: string[n])', ([text, k], [out]) => {
    expectTypeOf(k).toEqualTypeOf<Tensor>()
    text.toArray().forEach((one, i) => out.set(i, one))
    expectTypeOf(text.get(0)).toEqualTypeOf<string>()
    // @ts-expect-error strings are no numbers
    out.set(0, 1)
  })
})

test('a text knows its attributes', () => {
  const target = targetCall(scaled, handler)
  const attrs = { eps: f32(1), axes: new BigInt64Array(1), range: { low: 0, high: 1, inner: {} }, 'a-b': true, at: 0n }
  expectTypeOf(target(x, x, { ...attrs, mode: 'a, b; c', seed: 1n })).toEqualTypeOf<Both>()
  // @ts-expect-error text is not a number
  target(x, x, { ...attrs, eps: '1' })
  // @ts-expect-error the text is not one of the enum
  target(x, x, { ...attrs, mode: 'slow' })
  // @ts-expect-error the attribute is not declared
  target(x, x, { ...attrs, epsilon: 1 })
  // @ts-expect-error a part of the dictionary is missing
  target(x, x, { ...attrs, range: { low: 0 } })
})

test('a function has the parameters of its text', () => {
  registry.registerFunction('scaled', scaled, (operands, results, attrs) => {
    expectTypeOf(operands[0]).toEqualTypeOf<Tensor>()
    expectTypeOf(operands[2]).toEqualTypeOf<Tensor | undefined>()
    expectTypeOf(results).toExtend<readonly [Tensor, Tensor]>()
    expectTypeOf(attrs.eps).toEqualTypeOf<number>()
    expectTypeOf(attrs.axes).toEqualTypeOf<BigInt64Array>()
    expectTypeOf(attrs.mode).toEqualTypeOf<'fast' | 'a, b; c'>()
    expectTypeOf(attrs.seed).toEqualTypeOf<bigint | undefined>()
    expectTypeOf(attrs.range.low).toEqualTypeOf<number>()
    expectTypeOf(attrs.range.inner.text).toEqualTypeOf<string>()
    expectTypeOf(attrs['a-b']).toEqualTypeOf<boolean>()
    expectTypeOf(attrs.at).toEqualTypeOf<bigint>()
  })
})

test('a signature that TypeScript does not know takes any arguments', () => {
  const text: string = normal
  expectTypeOf(targetCall(text, handler)).toEqualTypeOf<Kernel>()
  expectTypeOf(targetCall<Both>(text, handler)(x, { a: 1 })).toEqualTypeOf<Both>()
  expectTypeOf(targetCall(parseSignature('f', text), handler)(x, x)).toEqualTypeOf<Tensor>()
  registry.registerFunction('f', text, (operands, results, attrs) => {
    expectTypeOf(operands).toEqualTypeOf<readonly Tensor[]>()
    expectTypeOf(results).toEqualTypeOf<readonly Tensor[]>()
    expectTypeOf(attrs).toEqualTypeOf<{ readonly [name: string]: unknown }>()
  })
  // A quote that is not closed is left to parseSignature().
  registry.registerFunction('f', '() -> (); a: string = "x, b: s32', (_, __, attrs) => {
    expectTypeOf(attrs).toEqualTypeOf<{ readonly [name: string]: unknown }>()
  })
})
