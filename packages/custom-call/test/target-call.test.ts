import {
  ArgumentError,
  parseSignature,
  ScopeClosedError,
  ScopeHeldError,
  SignatureError,
  tensor,
  type TensorType,
} from '@tenon/core'
import { f32, f64, ptr, s64, targetCall, TargetRegistry, typedHandler, type Kernel } from '@tenon/custom-call'
import { NativeScope } from '@tenon/scope'
import { describe, expect, test } from 'vitest'
import { filled, kernels, liveObjects, seenAttributes } from './kernels.ts'

const handler = (symbol: string): ReturnType<typeof typedHandler> => typedHandler(kernels, symbol)

/** Returns the types of the results that a call of a target has. */
function resultTypes(text: string, operands: TensorType[], result?: TensorType): readonly TensorType[] {
  using call = targetCall(parseSignature('sum', text), handler('weighted_sum')).prepare(
    operands,
    {},
    result === undefined ? {} : { results: result },
  )
  return call.resultTypes
}

const clip = '(x: f32[n]) -> (y: f32[n]); low: f32, high: f32 = 2'

describe('a call by the text of a signature', () => {
  test.each(['clip_v1', 'clip_v2', 'clip_v3'])('infers results, types and checks sizes of %s', (symbol) => {
    const call = targetCall(clip, handler(symbol))
    const x = filled([4], (i) => i)
    expect(call(x, { low: 1 }).toArray()).toEqual([1, 1, 2, 2])
    expect(call(x, { low: 0, high: 2.5 }).toArray()).toEqual([0, 1, 2, 2.5])
    expect(call(x, { low: f32(1), high: f32(1) }, { into: x })).toBe(x)
    expect(() => call(x, { low: 1 }, { results: f32([5]) })).toThrow(
      /y of clip_v\d must be float32\[n\], got float32\[5\]: x has n = 4, not 5/,
    )
  })

  test('can be prepared, bound and run asynchronously', async () => {
    const call = targetCall(clip, handler('clip_v3'))
    const [x, y] = [filled([3], (i) => i), tensor('f32', [3])]
    using prepared = call.prepare([x], { low: 1, high: 1 })
    expect(prepared.resultTypes).toEqual([f32([3])])
    prepared.run([x], [y])
    expect(y.toArray()).toEqual([1, 1, 1])
    using bound = prepared.bind([x], [x])
    bound.run()
    expect(x.toArray()).toEqual([1, 1, 1])
    const z = tensor('f32', [3])
    await prepared.runAsync([y], [z])
    expect(z.toArray()).toEqual([1, 1, 1])
    expect(() => call.prepare([f32([3])], { low: 1 }, { results: f64([3]) })).toThrow(ArgumentError)
  })

  test('accepts optional and remaining operands', () => {
    const call = targetCall('(x: f32[n], y?: f32[n], ...rest: f32[n]) -> (z: f32[n])', handler('optional_sum'))
    const one = filled([2], () => 1)
    expect(call(one).toArray()).toEqual([1, 1])
    expect(call(one, one).toArray()).toEqual([2, 2])
    expect(call(one, one, [one, one]).toArray()).toEqual([4, 4])
    expect(() => (call as () => void)()).toThrow(/optional_sum takes at least 1 operand \(.*\), got 0/)
    expect(() => call(one, one, [filled([3], () => 1)])).toThrow(/rest\[0\] of optional_sum .*x has n = 2/)
  })

  test('has one element type for all parameters with one variable', () => {
    const add = '(x: T[n], y: T[n]) -> (z: T[n]); where T in f32 | f64'
    expect(resultTypes(add, [f64([3]), f64([3])])).toEqual([f64([3])])
    expect(() => resultTypes(add, [f32([3]), f64([3])])).toThrow(/y of sum must be T\[n\], got float64\[3\]/)
    expect(() => resultTypes(add, [s64([3]), s64([3])])).toThrow(/T is one of float32, float64/)
    const copy = '(x: T[...]) -> (y: T[?])'
    expect(() => resultTypes(copy, [f32([3])])).toThrow(/the call does not determine the size of axis 0/)
    expect(resultTypes(copy, [f32([3, 1])], f32([3]))).toEqual([f32([3])])
    expect(() => resultTypes(copy, [f32([3, 1])], f64([3]))).toThrow(ArgumentError)
    expect(() => resultTypes('() -> (y: any[2])', [])).toThrow(/does not determine the element type/)
  })

  test('checks fixed sizes, ranks and counts', () => {
    const dense = '(x: f32[batch, 4], w: f32[4, 2]) -> (y: f32[batch, 2])'
    expect(resultTypes(dense, [f32([7, 4]), f32([4, 2])])).toEqual([f32([7, 2])])
    expect(() => resultTypes(dense, [f32([7, 5]), f32([4, 2])])).toThrow(/float32\[batch, 4\], got float32\[7, 5\]/)
    expect(() => resultTypes(dense, [f32([7]), f32([4, 2])])).toThrow(ArgumentError)
    expect(() => resultTypes(dense, [f32([7, 4])])).toThrow(/takes 2 operands \(x, w\), got 1/)
    expect(() => resultTypes(dense, [f32([7, 4]), 4 as never])).toThrow(/operand 1 of sum must be a tensor or a type/)
  })

  test('may put results into the memory of operands', () => {
    const inPlace = '(x: f32[n] @donated) -> (y: f32[n] @alias(x)); low: f32, high: f32'
    const x = filled([3], (i) => i)
    const call = targetCall(inPlace, handler('clip_v2'))
    expect(call(x, { low: 1, high: 1 })).toBe(x)
    expect(x.toArray()).toEqual([1, 1, 1])
    expect(() => call(x, { low: 1, high: 1 }, { into: tensor('f32', [3]) })).toThrow(
      /must be in the memory of their operands/,
    )
  })

  test('can be called through a handler of a registry', () => {
    const registry = new TargetRegistry()
    const registered = registry.registerTyped('clip', { execute: { library: kernels, symbol: 'clip_v1' } })
    expect(
      targetCall(clip, registered)(
        filled([2], (i) => 9 * i),
        { low: 1 },
      ).toArray(),
    ).toEqual([1, 2])
    registry.unregister('clip')
  })
})

describe('attributes of a signature', () => {
  /** Returns a handler's description of attributes that are declared as a text. */
  const seen = (attributes: string, values: unknown): string => {
    const call = targetCall(`() -> (text: u8[4096]); ${attributes}`, handler('describe_attrs'))
    const text = (call as Kernel)(values as never)
    return Buffer.from(text.view() as Uint8Array)
      .toString()
      .replace(/\0+$/, '')
  }

  test.each<[string, unknown]>([
    ['a: s8, b: u64', { a: -1, b: 2n ** 64n - 1n }],
    ['a: f32, b: f64', { a: 0.5, b: 0.1 }],
    ['a: pred, b: string, c: bytes', { a: true, b: 'é', c: new Uint8Array([0, 1]) }],
    ['a: s64[], b: f32[]', { a: [1, 2n], b: [1.5] }],
    ['a: { b: { c: s32 } }', { a: { b: { c: 7 } } }],
    ['a: dictionary', { a: { b: f32(1), c: 'text' } }],
  ])('%s are passed as declared', (attributes, values) => {
    expect(seen(attributes, values)).not.toBe('')
  })

  test('give bare numbers their types', () => {
    expect(seen('eps: f32', { eps: 1e-5 })).toBe(seenAttributes({ eps: f32(1e-5) }))
    expect(seen('eps: f64', { eps: 1e-5 })).toBe(seenAttributes({ eps: f64(1e-5) }))
    expect(seen('n: s64', { n: 5 })).toBe(seenAttributes({ n: 5n }))
    expect(seen('n: s64[]', { n: [5] })).toBe(seenAttributes({ n: new BigInt64Array([5n]) }))
    expect(seen('at?: s32', {})).toBe(seenAttributes({}))
  })

  test.each<[string, unknown, RegExp]>([
    ['eps: f32', {}, /eps of describe_attrs must be f32, got no value/],
    ['eps: f32', { eps: '1' }, /eps of describe_attrs must be f32, got/],
    ['eps: f32', { eps: 1, epsilon: 1 }, /describe_attrs does not have an attribute named epsilon/],
    ['eps: f32', { eps: f64(1) }, /eps of describe_attrs must be f32, got an attribute of f64/],
    ['n: u8', { n: 256 }, /n of describe_attrs must be u8, got 256/],
    ['n: s32[]', { n: 5 }, /n of describe_attrs must be s32\[\]/],
    ['a: { b: f32 }', { a: { c: 1 } }, /a of describe_attrs does not have an attribute named c/],
    ['a: { b: f32 }', { a: 1 }, /a of describe_attrs must be a dictionary/],
    ['a: string', { a: new Uint8Array(1) }, /a of describe_attrs must be a string/],
    ['a: dictionary', { a: 1 }, /a of describe_attrs must be a dictionary, got/],
    ['a: pointer', { a: 1 }, /a of describe_attrs must be a pointer/],
  ])('%s with %j is refused', (attributes, values, message) => {
    expect(() => seen(attributes, values)).toThrow(ArgumentError)
    expect(() => seen(attributes, values)).toThrow(message)
  })

  test('keep the memory of a pointer open', () => {
    const scope = NativeScope.ofConfined()
    const x = tensor('f32', [1], [1], { allocator: scope })
    const at = targetCall('() -> (text: u8[64]); at: pointer', handler('describe_attrs'))
    const call = at.prepare([], { at: x })
    expect(() => scope.close()).toThrow(ScopeHeldError)
    call.close()
    expect(seenAttributes({ at: ptr(x) })).toBe(seenAttributes({ at: x.segment.address }))
    // A call as a function keeps no call that would hold the memory.
    at({ at: x })
    scope.close()
    expect(() => at.prepare([], { at: ptr(5n) }).close()).not.toThrow()
    expect(() => at.prepare([], { at: x })).toThrow(ScopeClosedError)
  })
})

test('a text that is not a signature is refused, and a handler of another class', () => {
  expect(() => targetCall('(x: f32[-1]) -> ()', handler('clip_v1'))).toThrow(SignatureError)
  expect(() => targetCall({ operands: [], results: [] } as never, handler('clip_v1'))).toThrow(
    /signature must be the text of a signature/,
  )
  expect(() => targetCall(clip, kernels as never)).toThrow(/handler must be a typed handler or an untyped function/)
})

test('nothing is left behind', () => expect(liveObjects()).toEqual({ errors: 0, futures: 0 }))
