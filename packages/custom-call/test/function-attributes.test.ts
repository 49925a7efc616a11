import { ArgumentError, tensor, type Tensor, type TensorType } from '@tenon/core'
import {
  array,
  c64,
  f32,
  f64,
  FunctionTarget,
  InvalidArgumentError,
  ptr,
  s32,
  s64,
  s8,
  str,
  targetCall,
  TargetRegistry,
  u64,
  u8,
  UnavailableError,
  UnimplementedError,
  type AttributeDictionary,
} from '@tenon/custom-call'
import { describe, expect, test } from 'vitest'
import { filled, liveObjects, thrownBy } from './kernels.ts'

const scale = '(x: f32[n], bias?: f32[n]) -> (y: f32[n]); a: f32, label: string = "none"'

describe('a TypeScript function with a signature', () => {
  test('gets tensors of any size, and attributes with their types', () => {
    const registry = new TargetRegistry()
    const labels: string[] = []
    const handler = registry.registerFunction('scale', scale, ([x, bias], [y], { a, label }) => {
      labels.push(label)
      const out = y.view()
      const offset = bias?.toArray() ?? []
      x.toArray().forEach((value, i) => (out[i] = a * Number(value) + Number(offset[i] ?? 0)))
    })
    const call = targetCall(scale, handler)
    const one = filled([2], () => 1)
    expect(
      call(
        filled([3], (i) => i),
        { a: 2 },
      ).toArray(),
    ).toEqual([0, 2, 4])
    expect(call(one, one, { a: 2, label: 'é' }).toArray()).toEqual([3, 3])
    using prepared = call.prepare([one], { a: 5 })
    const y = tensor('f32', [2])
    prepared.run([one], [y])
    using bound = prepared.bind([y], [y])
    bound.run()
    expect(y.toArray()).toEqual([25, 25])
    expect(labels).toEqual(['none', 'é', 'none', 'none'])
    bound.close()
    prepared.close()
    registry.unregister('scale')
  })

  test('gets an empty object if the signature has no attributes', () => {
    const seen: unknown[] = []
    const exact = '(x: f32[2]) -> (y: f32[2])'
    const target = FunctionTarget.open('exact', exact, (operands, results, attrs) => {
      seen.push(operands.length, results.length, attrs)
    })
    expect(targetCall(exact, target.handler)(filled([2], () => 1)).shape).toStrictEqual([2])
    expect(seen).toStrictEqual([1, 1, {}])
    target.close()
  })

  test('gets tensors in the layouts of its signature, also with exact sizes', () => {
    const signature = '(x: f32[2, 3] @cm) -> (y: f32[2, 3] @cm)'
    using target = FunctionTarget.open('copy', signature, ([from], [to]) => {
      to.set(from.toNested() as number[][])
    })
    const x = filled([2, 3], (i) => i)
    expect(targetCall(signature, target.handler)(x).toNested()).toEqual(x.toNested())
  })

  test('gets the same tensor objects as the run that calls it', () => {
    let seen: readonly (Tensor | undefined)[] = []
    const target = FunctionTarget.open('seen', scale, (operands, results) => {
      seen = [...operands, ...results]
    })
    const [x, y] = [filled([2], () => 1), tensor('f32', [2])]
    const call = targetCall(scale, target.handler).prepare([x], { a: 1 })
    call.run([x], [y])
    expect(seen[0]).toBe(x)
    expect(seen[1]).toBe(y)
    call.close()
    target.close()
  })

  test('is not run for a call that contradicts the signature, which is INVALID_ARGUMENT', () => {
    let runs = 0
    const target = FunctionTarget.open('strict', scale, () => {
      runs++
    })
    const run = (types: AttributeDictionary, operand: TensorType = f32([2])): unknown =>
      thrownBy(() => {
        using call = target.handler.prepare({ operands: [operand], results: [f32([2])], attrs: types })
        call.run([tensor(operand.dtype, operand.shape)], [tensor('f32', [2])])
      })
    const cases: [AttributeDictionary, string[]][] = [
      [{}, ['Missing attribute: a']],
      [{ a: f64(1) }, ['Wrong scalar data type: expected F32 but got F64 (attribute a)']],
      [{ a: 'text' }, ['Wrong attribute type: expected scalar but got string (attribute a)']],
      [{ a: {} }, ['Wrong attribute type: expected scalar but got dictionary (attribute a)']],
      [{ a: f32(1), b: f32(1) }, ['Unexpected attribute: b']],
      [{ a: f32(1), label: str(new Uint8Array([255])) }, ['expected UTF-8 text but got other bytes (attribute label)']],
    ]
    for (const [attrs, [diagnostic]] of cases) {
      const error = run(attrs)
      expect(error).toBeInstanceOf(InvalidArgumentError)
      expect(String((error as Error).message)).toContain(diagnostic)
    }
    expect(run({ a: f32(1) }, f32([3]))).toBeInstanceOf(InvalidArgumentError)
    expect(run({ a: f32(1) }, f64([2]))).toMatchObject({ cause: expect.anything() as object })
    expect(runs).toBe(0)
    expect(() =>
      target.handler.prepare({ operands: [f32([2])], results: [f32([2])], attrs: { a: 1 as never } }),
    ).toThrow(ArgumentError)
    target.close()
  })

  test('fails if it throws, returns a promise, or is called on another thread', async () => {
    const cause = new Error('as it should')
    const none = '() -> (); a: s64'
    const throwing = FunctionTarget.open('throwing', none, () => {
      throw cause
    })
    const later = FunctionTarget.open('later', none, (async () => {}) as () => void)
    const attributes = { a: 1 }
    using throws = targetCall(none, throwing.handler).prepare([], attributes)
    using promises = targetCall(none, later.handler).prepare([], attributes)
    expect(thrownBy(() => throws.run([], []))).toMatchObject({ codeName: 'UNKNOWN', cause })
    expect(thrownBy(() => promises.run([], []))).toBeInstanceOf(UnimplementedError)
    await expect(throws.runAsync([], [])).rejects.toThrow(UnavailableError as never)
    throws.close()
    promises.close()
    throwing.close()
    later.close()
  })
})

describe('attributes of a TypeScript function', () => {
  /** Returns the values that a function gets for attributes. */
  function given(attributes: string, values: AttributeDictionary): unknown {
    let seen: unknown
    const target = FunctionTarget.open('attrs', `() -> (); ${attributes}`, (_, __, a) => {
      seen = a
    })
    const call = target.handler.prepare({ attrs: values })
    call.run([], [])
    call.close()
    target.close()
    return seen
  }

  test('are scalars of every type', () => {
    expect(
      given('a: s8, b: s32, c: s64, d: u8, e: u64, f: f32, g: f64, h: pred, i: c64', {
        a: s8(-1),
        b: s32(-5),
        c: s64(2n ** 62n),
        d: u8(255),
        e: u64(2n ** 64n - 1n),
        f: f32(0.5),
        g: f64(0.1),
        h: true,
        i: c64(1, -2),
      }),
    ).toEqual({ a: -1, b: -5, c: 2n ** 62n, d: 255, e: 2n ** 64n - 1n, f: 0.5, g: 0.1, h: true, i: [1, -2] })
  })

  test('are arrays, strings and pointers', () => {
    const x = tensor('f32', [1])
    const seen = given('a: f32[], b: s64[], c: u8[], d: string, e: bytes, f: pointer, g: s16[]', {
      a: new Float32Array([1, 2.5]),
      b: array('s64', [1, -2]),
      c: new Uint8Array([7]),
      d: 'héllo\0',
      e: str(new Uint8Array([0, 255])),
      f: ptr(x),
      g: array('s16', []),
    })
    expect(seen).toEqual({
      a: new Float32Array([1, 2.5]),
      b: new BigInt64Array([1n, -2n]),
      c: new Uint8Array([7]),
      d: 'héllo\0',
      e: new Uint8Array([0, 255]),
      f: x.segment.address,
      g: new Int16Array(),
    })
  })

  test('are dictionaries, with and without declared members', () => {
    const values = {
      range: { low: f32(0), inner: { mode: 'fast' } },
      any: { n: s8(3), deep: { list: array('u32', [9]) } },
    }
    const seen = given('range: { low: f32, inner: { mode: string } }, any: dictionary', values) as {
      range: unknown
      any: { n: { value: number; dtype: string }; deep: { list: { value: Uint32Array; kind: string } } }
    }
    expect(seen.range).toEqual({ low: 0, inner: { mode: 'fast' } })
    expect(seen.any.n).toMatchObject({ dtype: 'int8', value: 3 })
    expect(seen.any.deep.list).toMatchObject({ kind: 'array', value: new Uint32Array([9]) })
    expect(thrownBy(() => given('a: { b: f32 }', { a: { b: f64(1) } }))).toMatchObject({
      diagnostics: ['Wrong scalar data type: expected F32 but got F64 (attribute a.b)'],
    })
  })

  test('may need more memory than is reserved at first', () => {
    const large = 'x'.repeat(100_000)
    expect(given('a: string', { a: large })).toEqual({ a: large })
    expect(given('a: s8', { a: s8(1) })).toEqual({ a: 1 })
  })
})

test('nothing is left behind', () => expect(liveObjects()).toEqual({ errors: 0, futures: 0 }))
