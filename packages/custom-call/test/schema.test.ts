import { ArgumentError, ArgumentRangeError, ScopeClosedError, ScopeHeldError, tensor, tensorType } from '@tenon/core'
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

const clip = defineTarget('clip', {
  operands: [vector],
  results: [vector],
  attrs: { low: 'f32', high: maybe('f32', 2) },
})

describe('a declared target', () => {
  test.each(['clip_v1', 'clip_v2', 'clip_v3'])('R7: infers results, types and checks sizes of %s', (symbol) => {
    const call = targetCall(clip, handler(symbol))
    const x = filled([4], (i) => i)
    expect(call([x], { attrs: { low: 1 } }).toArray()).toEqual([1, 1, 2, 2])
    expect(call([x], { attrs: { low: 0, high: 2.5 } }).toArray()).toEqual([0, 1, 2, 2.5])
    expect(call([x], { attrs: { low: f32(1), high: f32(1) }, results: [x] })).toBe(x)
    expect(() => call([x], { attrs: { low: 1 }, results: [f32([5])] })).toThrow(
      /result 0 of clip must be float32\[n\], got float32\[5\], because operand 0 has n = 4/,
    )
  })

  test('can be prepared, bound and run asynchronously', async () => {
    const call = targetCall(clip, handler('clip_v3'))
    const [x, y] = [filled([3], (i) => i), tensor('f32', [3])]
    using prepared = call.prepare({ operands: [x], attrs: { low: 1, high: 1 } })
    expect(prepared.resultTypes).toEqual([f32([3])])
    prepared.run([x], [y])
    expect(y.toArray()).toEqual([1, 1, 1])
    using bound = prepared.bind([x], [x])
    bound.run()
    expect(x.toArray()).toEqual([1, 1, 1])
    const z = tensor('f32', [3])
    await prepared.runAsync([y], [z])
    expect(z.toArray()).toEqual([1, 1, 1])
    expect(() => call.prepare({ operands: [f32([3])], results: [f64([3])], attrs: { low: 1 } })).toThrow(ArgumentError)
  })

  test('accepts optional and remaining operands', () => {
    const sum = defineTarget('sum', {
      operands: [vector, optional(vector), remaining(vector)],
      results: [vector],
    })
    const call = targetCall(sum, handler('optional_sum'))
    const one = filled([2], () => 1)
    expect(call([one]).toArray()).toEqual([1, 1])
    expect(call([one, one]).toArray()).toEqual([2, 2])
    expect(call([one, one, one, one]).toArray()).toEqual([4, 4])
    expect(() => call([] as never)).toThrow(/sum takes at least 1 operands, got 0/)
    expect(() => call([one, one, filled([3], () => 1)])).toThrow(/operand 2 of sum .*operand 0 has n = 2/)
  })

  test('has one element type for all parameters that share a choice', () => {
    const T = oneOf('f32', 'f64')
    const add = defineTarget('add', { operands: [param(T, ['n']), param(T, ['n'])], results: [param(T, ['n'])] })
    expect(add.resultTypes([f64([3]), f64([3])])).toEqual([f64([3])])
    expect(() => add.resultTypes([f32([3]), f64([3])])).toThrow(/operand 1 of add .* operand 0 has elements of float32/)
    expect(() => add.resultTypes([s64([3]), s64([3])])).toThrow(/must be float32 \| float64\[n\], got int64\[3\]/)
    const any = oneOf()
    const copy = defineTarget('copy', { operands: [param(any)], results: [param(any, [null])] })
    expect(() => copy.resultTypes([f32([3])])).toThrow(/the operands do not determine all its sizes/)
    expect(() => copy.check([f32([3, 1])], [f32([3])])).not.toThrow()
    expect(() => copy.check([f32([3, 1])], [f64([3])])).toThrow(ArgumentError)
    const made = defineTarget('made', { operands: [], results: [param(any, [2])] })
    expect(() => made.resultTypes([])).toThrow(/do not determine its element type/)
  })

  test('checks fixed sizes, ranks and counts', () => {
    const dense = defineTarget('dense', {
      operands: [param('f32', ['batch', 4]), f32([4, 2])],
      results: [param('f32', ['batch', 2])],
    })
    expect(dense.resultTypes([f32([7, 4]), f32([4, 2])])).toEqual([f32([7, 2])])
    expect(() => dense.resultTypes([f32([7, 5]), f32([4, 2])])).toThrow(/float32\[batch, 4\], got float32\[7,5\]/)
    expect(() => dense.resultTypes([f32([7]), f32([4, 2])])).toThrow(ArgumentError)
    expect(() => dense.resultTypes([f32([7, 4])])).toThrow(/takes 2 operands, got 1/)
    expect(() => dense.resultTypes([f32([7, 4]), 4 as never])).toThrow(/number 1 must be a tensor or a type/)
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
    expect(call([x], { attrs: { low: 1, high: 1 } })).toBe(x)
    expect(x.toArray()).toEqual([1, 1, 1])
    expect(() => call([x], { attrs: { low: 1, high: 1 }, results: [tensor('f32', [3])] })).toThrow(
      /must be in the memory of their operands/,
    )
  })

  test('can be called through a handler of a registry', () => {
    const registry = new TargetRegistry()
    const registered = registry.registerTyped('clip', { execute: { library: kernels, symbol: 'clip_v1' } })
    expect(targetCall(clip, registered)([filled([2], (i) => 9 * i)], { attrs: { low: 1 } }).toArray()).toEqual([1, 2])
    registry.unregister('clip')
  })
})

describe('declared attributes', () => {
  /** Returns a handler's description of attributes that are written for a schema. */
  const seen = (attrs: AttributeSchema, values: unknown): string => {
    const target = defineTarget('describe_attrs', { operands: [], results: [param('u8', [4096])], attrs })
    const text = targetCall(target, handler('describe_attrs'))([], { attrs: values } as never)
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
    [{ eps: 'f32' }, {}, /eps must be given, it is f32/],
    [{ eps: 'f32' }, { eps: '1' }, /attrs of describe_attrs: eps is f32: /],
    [
      { eps: 'f32' },
      { eps: 1, epsilon: 1 },
      /must not have the attribute epsilon, which is not declared[^]*The declared attributes are eps/,
    ],
    [{ eps: 'f32' }, { eps: f64(1) }, /it must be f32, got f64/],
    [{ n: 'u8' }, { n: 256 }, /n is u8/],
    [{ n: 's32[]' }, { n: 5 }, /n is s32\[\]/],
    [{ a: { b: 'f32' } }, { a: { c: 1 } }, /attrs of describe_attrs: a must not have the attribute c/],
    [{ a: { b: 'f32' } }, { a: 1 }, /must be an object/],
    [{ a: 'string' }, { a: new Uint8Array(1) }, /it must be text/],
    [{ a: 'dictionary' }, { a: 1 }, /a must be a dictionary, got/],
    [{ a: 'pointer' }, { a: 1 }, /a is pointer: a pointer must be/],
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
    const call = at.prepare({ operands: [], attrs: { at: x } })
    expect(() => scope.close()).toThrow(ScopeHeldError)
    call.close()
    expect(seenAttributes({ at: ptr(x) })).toBe(seenAttributes({ at: x.segment.address }))
    // A call as a function keeps no call that would hold the memory.
    at([], { attrs: { at: x } })
    scope.close()
    expect(() => at.prepare({ operands: [], attrs: { at: ptr(5n) } }).close()).not.toThrow()
    expect(() => at.prepare({ operands: [], attrs: { at: x } })).toThrow(ScopeClosedError)
  })
})

describe('an invalid declaration is refused', () => {
  test.each([
    [{}, /operands of bad must be an array/],
    [{ operands: [], results: [5] }, /results of bad: number 0 must be a parameter/],
    [{ operands: [optional(vector), vector], results: [] }, /number 1 cannot follow a parameter that is optional/],
    [{ operands: [remaining(vector), remaining(vector)], results: [] }, /cannot follow a parameter that is remaining/],
    [{ operands: [], results: [], attrs: { eps: 'float' } }, /eps must be the type of an attribute[^]*Use pred/],
    [{ operands: [], results: [], attrs: { eps: maybe('f32', 'x' as never) } }, /eps is f32/],
    [{ operands: [], results: [], attrs: 5 }, /attrs of bad must be an object/],
  ])('%# %j', (definition, message) => {
    expect(() => defineTarget('bad', definition as never)).toThrow(message)
  })

  test('for its sizes and element types', () => {
    expect(() => param('f32', [-1])).toThrow(ArgumentRangeError)
    expect(() => param('f32', ['a b'])).toThrow(ArgumentRangeError)
    expect(() => param('f32', 4 as never)).toThrow(/shape must be an array of sizes/)
    expect(() => param('float', [1])).toThrow(ArgumentError)
    expect(() => targetCall(clip, kernels as never)).toThrow(/handler must be a typed handler/)
    expect(tensorType('f32', [1])).toBe(f32([1]))
  })
})

test('nothing is left behind', () => expect(liveObjects()).toEqual({ errors: 0, futures: 0 }))
