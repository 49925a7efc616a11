import {
  ArgumentError,
  ArgumentRangeError,
  formatSignature,
  ScopeClosedError,
  ScopeHeldError,
  tensor,
  tensorType,
  type KernelSignature,
  type TensorType,
} from '@tenon/core'
import {
  defineTarget,
  f32,
  f64,
  maybe,
  oneOf,
  optional,
  param,
  ptr,
  remaining,
  s64,
  targetCall,
  TargetRegistry,
  typedHandler,
  type AttributeSchema,
} from '@tenon/custom-call'
import { NativeScope } from '@tenon/scope'
import { describe, expect, test } from 'vitest'
import { filled, kernels, liveObjects, seenAttributes } from './kernels.ts'

const handler = (symbol: string): ReturnType<typeof typedHandler> => typedHandler(kernels, symbol)
const vector = param('f32', ['n'])

/** Returns the types of the results that a call of a target has. */
function resultTypes(target: KernelSignature, operands: TensorType[], result?: TensorType): readonly TensorType[] {
  using call = targetCall(target, handler('weighted_sum')).prepare(
    operands,
    {},
    result === undefined ? {} : { results: result },
  )
  return call.resultTypes
}

const clip = defineTarget('clip', {
  operands: [vector],
  results: [vector],
  attrs: { low: 'f32', high: maybe('f32', 2) },
})

describe('a declared target', () => {
  test.each(['clip_v1', 'clip_v2', 'clip_v3'])('infers results, types and checks sizes of %s', (symbol) => {
    const call = targetCall(clip, handler(symbol))
    const x = filled([4], (i) => i)
    expect(call(x, { low: 1 }).toArray()).toEqual([1, 1, 2, 2])
    expect(call(x, { low: 0, high: 2.5 }).toArray()).toEqual([0, 1, 2, 2.5])
    expect(call(x, { low: f32(1), high: f32(1) }, { into: x })).toBe(x)
    expect(() => call(x, { low: 1 }, { results: f32([5]) })).toThrow(
      /result0 of clip must be float32\[n\], got float32\[5\]: operand0 has n = 4, not 5/,
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
    const sum = defineTarget('sum', {
      operands: [vector, optional(vector), remaining(vector)],
      results: [vector],
    })
    const call = targetCall(sum, handler('optional_sum'))
    const one = filled([2], () => 1)
    expect(call(one).toArray()).toEqual([1, 1])
    expect(call(one, one).toArray()).toEqual([2, 2])
    expect(call(one, one, [one, one]).toArray()).toEqual([4, 4])
    expect(() => (call as () => void)()).toThrow(/sum takes at least 1 operand \(.*\), got 0/)
    expect(() => call(one, one, [filled([3], () => 1)])).toThrow(/operand2\[0\] of sum .*operand0 has n = 2/)
  })

  test('has one element type for all parameters that share a choice', () => {
    const T = oneOf('f32', 'f64')
    const add = defineTarget('add', { operands: [param(T, ['n']), param(T, ['n'])], results: [param(T, ['n'])] })
    expect(formatSignature(add)).toBe('(operand0: T0[n], operand1: T0[n]) -> (result0: T0[n]); where T0 in f32 | f64')
    expect(resultTypes(add, [f64([3]), f64([3])])).toEqual([f64([3])])
    expect(() => resultTypes(add, [f32([3]), f64([3])])).toThrow(/operand1 of add must be T0\[n\], got float64\[3\]/)
    expect(() => resultTypes(add, [s64([3]), s64([3])])).toThrow(/T0 is one of float32, float64/)
    const any = oneOf()
    const copy = defineTarget('copy', { operands: [param(any)], results: [param(any, [null])] })
    expect(copy.isComplete).toBe(false)
    expect(() => resultTypes(copy, [f32([3])])).toThrow(/the call does not determine the size of axis 0/)
    expect(resultTypes(copy, [f32([3, 1])], f32([3]))).toEqual([f32([3])])
    expect(() => resultTypes(copy, [f32([3, 1])], f64([3]))).toThrow(ArgumentError)
    const made = defineTarget('made', { operands: [], results: [param(any, [2])] })
    expect(() => resultTypes(made, [])).toThrow(/does not determine the element type/)
  })

  test('checks fixed sizes, ranks and counts', () => {
    const dense = defineTarget('dense', {
      operands: [param('f32', ['batch', 4]), f32([4, 2])],
      results: [param('f32', ['batch', 2])],
    })
    expect(resultTypes(dense, [f32([7, 4]), f32([4, 2])])).toEqual([f32([7, 2])])
    expect(() => resultTypes(dense, [f32([7, 5]), f32([4, 2])])).toThrow(/float32\[batch, 4\], got float32\[7, 5\]/)
    expect(() => resultTypes(dense, [f32([7]), f32([4, 2])])).toThrow(ArgumentError)
    expect(() => resultTypes(dense, [f32([7, 4])])).toThrow(/takes 2 operands \(operand0, operand1\), got 1/)
    expect(() => resultTypes(dense, [f32([7, 4]), 4 as never])).toThrow(/operand 1 of dense must be a tensor or a type/)
  })

  test('may put results into the memory of operands', () => {
    const inPlace = defineTarget('clip', {
      operands: [vector],
      results: [vector],
      attrs: { low: 'f32', high: 'f32' },
      aliases: [{ operand: 0, result: 0 }],
    })
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

describe('declared attributes', () => {
  /** Returns a handler's description of attributes that are written for a schema. */
  const seen = (attrs: AttributeSchema, values: unknown): string => {
    const target = defineTarget('describe_attrs', { operands: [], results: [param('u8', [4096])], attrs })
    const text = targetCall(target, handler('describe_attrs'))(values as never)
    return Buffer.from(text.view() as Uint8Array)
      .toString()
      .replace(/\0+$/, '')
  }

  test.each([
    [
      { a: 's8', b: 'u64' },
      { a: -1, b: 2n ** 64n - 1n },
    ],
    [
      { a: 'f32', b: 'f64' },
      { a: 0.5, b: 0.1 },
    ],
    [
      { a: 'pred', b: 'string', c: 'bytes' },
      { a: true, b: 'é', c: new Uint8Array([0, 1]) },
    ],
    [
      { a: 's64[]', b: 'f32[]' },
      { a: [1, 2n], b: [1.5] },
    ],
    [{ a: { b: { c: 's32' } } }, { a: { b: { c: 7 } } }],
    [{ a: 'dictionary' }, { a: { b: f32(1), c: 'text' } }],
  ] satisfies [AttributeSchema, unknown][])('%j are passed as declared', (schema, values) => {
    expect(seen(schema, values)).not.toBe('')
  })

  test('give bare numbers their types', () => {
    expect(seen({ eps: 'f32' }, { eps: 1e-5 })).toBe(seenAttributes({ eps: f32(1e-5) }))
    expect(seen({ eps: 'f64' }, { eps: 1e-5 })).toBe(seenAttributes({ eps: f64(1e-5) }))
    expect(seen({ n: 's64' }, { n: 5 })).toBe(seenAttributes({ n: 5n }))
    expect(seen({ n: 's64[]' }, { n: [5] })).toBe(seenAttributes({ n: new BigInt64Array([5n]) }))
    expect(seen({ at: maybe('s32') }, {})).toBe(seenAttributes({}))
  })

  test.each([
    [{ eps: 'f32' }, {}, /eps of describe_attrs must be f32, got no value/],
    [{ eps: 'f32' }, { eps: '1' }, /eps of describe_attrs must be f32, got/],
    [{ eps: 'f32' }, { eps: 1, epsilon: 1 }, /describe_attrs does not have an attribute named epsilon/],
    [{ eps: 'f32' }, { eps: f64(1) }, /eps of describe_attrs must be f32, got an attribute of f64/],
    [{ n: 'u8' }, { n: 256 }, /n of describe_attrs must be u8, got 256/],
    [{ n: 's32[]' }, { n: 5 }, /n of describe_attrs must be s32\[\]/],
    [{ a: { b: 'f32' } }, { a: { c: 1 } }, /a of describe_attrs does not have an attribute named c/],
    [{ a: { b: 'f32' } }, { a: 1 }, /a of describe_attrs must be a dictionary/],
    [{ a: 'string' }, { a: new Uint8Array(1) }, /a of describe_attrs must be a string/],
    [{ a: 'dictionary' }, { a: 1 }, /a of describe_attrs must be a dictionary, got/],
    [{ a: 'pointer' }, { a: 1 }, /a of describe_attrs must be a pointer/],
  ] satisfies [AttributeSchema, unknown, RegExp][])('%j with %j is refused', (schema, values, message) => {
    expect(() => seen(schema, values)).toThrow(ArgumentError)
    expect(() => seen(schema, values)).toThrow(message)
  })

  test('keep the memory of a pointer open', () => {
    const target = defineTarget('describe_attrs', {
      operands: [],
      results: [param('u8', [64])],
      attrs: { at: 'pointer' },
    })
    const scope = NativeScope.ofConfined()
    const x = tensor('f32', [1], [1], { allocator: scope })
    const at = targetCall(target, handler('describe_attrs'))
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

describe('an invalid declaration is refused', () => {
  test.each([
    [{}, /operands of bad must be an array/],
    [{ operands: [], results: [5] }, /results of bad: number 0 must be a parameter/],
    [{ operands: [optional(vector), vector], results: [] }, /the required operand operand1 cannot follow operand0\?/],
    [{ operands: [remaining(vector), remaining(vector)], results: [] }, /operand1 cannot follow \.\.\.operand0/],
    [{ operands: [], results: [], attrs: { eps: 'float' } }, /eps must be the type of an attribute[^]*Use pred/],
    [{ operands: [], results: [], attrs: { eps: maybe('f32', 'x' as never) } }, /eps of the definition must be f32/],
    [{ operands: [], results: [], attrs: 5 }, /attrs of bad must be an object/],
  ])('%# %j', (definition, message) => {
    expect(() => defineTarget('bad', definition as never)).toThrow(message)
  })

  test('for its sizes and element types', () => {
    expect(() => param('f32', [-1])).toThrow(ArgumentRangeError)
    expect(() => param('f32', ['a b'])).toThrow(ArgumentRangeError)
    expect(() => param('f32', 4 as never)).toThrow(/shape must be an array of sizes/)
    expect(() => param('float', [1])).toThrow(ArgumentError)
    expect(() => targetCall(clip, kernels as never)).toThrow(/handler must be a typed handler or an untyped function/)
    expect(tensorType('f32', [1])).toBe(f32([1]))
  })
})

test('nothing is left behind', () => expect(liveObjects()).toEqual({ errors: 0, futures: 0 }))
