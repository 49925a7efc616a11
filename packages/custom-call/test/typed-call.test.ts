import { ArgumentError, gcAllocator, NativeLibrary, ScopeClosedError, tensor, type Tensor } from '@tenon/core'
import {
  customCall,
  f32,
  f64,
  InvalidArgumentError,
  OutOfRangeError,
  s32,
  s64,
  typedHandler,
  UnknownError,
  XlaError,
  xlaErrorClasses,
  type AttributeDictionary,
} from '@tenon/custom-call'
import { describe, expect, test } from 'vitest'
import { cppKernels, filled, kernels, liveObjects } from './kernels.ts'

/** Normalises by the root mean square in double precision, row by row. */
function rmsNormReference(x: Tensor, eps: number): number[] {
  const width = x.shape.at(-1)!
  const values = x.toArray() as number[]
  return values.map((value, i) => {
    const row = values.slice(i - (i % width), i - (i % width) + width)
    return value / Math.sqrt(row.reduce((sum, v) => sum + v * v, 0) / width + Math.fround(eps))
  })
}

function largestDifference(a: readonly number[], b: readonly number[]): number {
  return a.reduce((largest, value, i) => Math.max(largest, Math.abs(value - b[i]!)), 0)
}

const rmsNorm = customCall(kernels, 'rms_norm')

describe('typed kernels compute', () => {
  test.each([[[1, 1]], [[2, 4]], [[7]], [[3, 0]], [[2, 3, 5]], [[64, 768]]])('rms_norm of %j', (shape) => {
    const x = filled(shape, (i) => Math.sin(i) * 3)
    const y = rmsNorm([x], { results: [f32(shape)], attrs: { eps: f32(1e-5) } })
    expect(y.shape).toStrictEqual(shape)
    expect(largestDifference(y.toArray() as number[], rmsNormReference(x, 1e-5))).toBeLessThan(1e-6)
  })

  test('broadcast_add', () => {
    const [b, c] = [filled([128], (i) => i), filled([2048], (i) => i / 2)]
    const a = customCall(kernels, 'broadcast_add')([b, c], { results: [f32([2048])] })
    expect(a.toArray()).toStrictEqual(Array.from({ length: 2048 }, (_, i) => (i % 128) + i / 2))
  })

  test('saxpy into a given tensor', () => {
    const [x, y, out] = [filled([3], (i) => i), filled([3], () => 10), tensor('f32', [3])]
    const result = customCall(kernels, 'saxpy')([x, y], { results: [out], attrs: { a: f32(2) } })
    expect(result).toBe(out)
    expect(out.toArray()).toStrictEqual([10, 12, 14])
  })

  test('scale_shift with attributes of every kind', () => {
    const attrs = {
      scale: f32(2),
      shift: new Float32Array([1, -100]),
      activation: 'relu',
      clip: true,
      times: s64(2),
      limits: { low: f32(0.5), high: f32(20) },
    }
    const x = filled([4], (i) => i)
    const y = customCall(kernels, 'scale_shift')([x], { results: [f32([4])], attrs })
    // 0: 1, 3 · 1: relu 0, clip 0.5; relu 0, clip 0.5 · 2: 5, 11 · 3: as 1
    expect(y.toArray()).toStrictEqual([3, 0.5, 11, 0.5])
  })

  test('results that are aligned to 64 bytes', () => {
    const y = rmsNorm([filled([1, 3], (i) => i)], { results: [f32([1, 3])], attrs: { eps: f32(1e-5) } })
    expect(y.segment.address % 64n).toBe(0n)
  })

  test.each([16, 4096])('results that are aligned to %i bytes on request, and to 64', (alignment) => {
    const operand = tensor('f32', [1, 3], gcAllocator.allocate(12, alignment))
    const y = rmsNorm([operand], { results: [f32([1, 3])], attrs: { eps: f32(1) }, alignment })
    expect(y.segment.address % BigInt(Math.max(alignment, 64))).toBe(0n)
  })

  test('2.11: with a future, whose error is thrown', () => {
    const scaleLater = customCall(kernels, 'scale_later')
    const before = liveObjects()
    const y = scaleLater([filled([3], (i) => i)], { results: [f32([3])], attrs: { factor: f32(3) } })
    expect(y.toArray()).toStrictEqual([0, 3, 6])
    expect(() => scaleLater([y], { results: [f32([3])], attrs: { factor: f32(-1) } })).toThrow(OutOfRangeError)
    expect(liveObjects()).toStrictEqual(before)
  })
})

/** Returns the error of a call of rms_norm. */
function failure(x: Tensor, result: Tensor, attrs: AttributeDictionary): XlaError {
  try {
    rmsNorm([x], { results: [result], attrs })
  } catch (error) {
    expect(error).toBeInstanceOf(XlaError)
    return error as XlaError
  }
  throw new Error('it succeeded')
}

describe('a refusal of the handler throws', () => {
  const x = filled([2, 2], (i) => i)
  const eps = { eps: f32(1e-5) }

  test('for a wrong element type', () => {
    const error = failure(tensor('f64', [2, 2]), x, eps)
    expect(error).toBeInstanceOf(InvalidArgumentError)
    expect(error.diagnostics).toStrictEqual(['Wrong buffer dtype: expected F32 but got F64'])
    expect(error.sentence).toBe('rms_norm answered INVALID_ARGUMENT: Wrong buffer dtype: expected F32 but got F64')
    expect(error.hint).toMatch(/element type and shape that the handler takes\. If you called it by its signature/)
  })

  test('for a wrong attribute type', () => {
    const error = failure(x, x, { eps: f64(1e-5) })
    expect(error.diagnostics).toStrictEqual(['Wrong scalar data type: expected F32 but got F64 (attribute eps)'])
    expect(error.hint).toMatch(/exact type/)
  })

  test('with all reasons at once', () => {
    const error = failure(tensor('s32', [2, 2]), tensor('u8', [4]), { eps: 'small' })
    expect(error.diagnostics).toHaveLength(3)
    expect(error.details['text']).toMatch(/bad operands at: 0, 1, 2/)
  })

  test('for wrong counts', () => {
    expect(failure(x, x, {}).sentence).toMatch(/Wrong number of attributes: expected 1 but got 0/)
    expect(failure(x, x, { ...eps, more: true }).sentence).toMatch(/expected 1 but got 2 with name\(s\): eps, more/)
    expect(() => rmsNorm([x, x], { results: [x], attrs: eps })).toThrow(
      /Wrong number of arguments: expected 1 but got 2/,
    )
    expect(() => rmsNorm([x], { results: [], attrs: eps })).toThrow(/Wrong number of results: expected 1 but got 0/)
  })

  test('not for shapes, which only the kernel checks', () => {
    expect(failure(x, tensor('f32', [4]), eps).sentence).toMatch(/gives y of the same shape, got ranks 2 and 1/)
  })

  test('for a handler of another stage', () => {
    const call = typedHandler(kernels, 'counter_v1_instantiate').prepare({ attrs: { start: s64(0) } })
    expect(() => call.run([], [])).toThrow(/Wrong execution stage: expected `instantiate` but got `execute`/)
    call.close()
  })
})

describe('an error of a handler', () => {
  const failWith = (code: number, message: string): XlaError => {
    try {
      customCall(kernels, 'fail_with')([], { results: [], attrs: { code: s32(code), message } })
    } catch (error) {
      return error as XlaError
    }
    throw new Error('it succeeded')
  }

  test('has the class of its code', () => {
    expect(xlaErrorClasses.size).toBe(16)
    ;[...xlaErrorClasses].forEach(([codeName, errorClass], index) => {
      const error = failWith(index + 1, `as ${codeName}`)
      expect(error).toBeInstanceOf(errorClass)
      expect(error).toMatchObject({
        code: 'TENON_XLA',
        xlaCode: index + 1,
        codeName,
        target: 'fail_with',
        stage: 'execute',
      })
      expect(error.sentence).toBe(`fail_with answered ${codeName}: as ${codeName}`)
      expect(error.name).toBe(
        `${codeName.toLowerCase().replaceAll(/(?:^|_)(\w)/g, (_, c: string) => c.toUpperCase())}Error`,
      )
    })
  })

  test('keeps a code without a name', () => {
    for (const code of [99, -1, 2 ** 31 - 1]) {
      const error = failWith(code, 'strange')
      expect(error).toBeInstanceOf(UnknownError)
      expect(error).toMatchObject({ xlaCode: code, codeName: 'UNKNOWN' })
      expect(error.sentence).toContain(`UNKNOWN (code ${code})`)
    }
  })

  test('with code 0 is success', () => {
    expect(
      customCall(kernels, 'fail_with')([], { results: [], attrs: { code: s32(0), message: 'fine' } }),
    ).toStrictEqual([])
  })

  test('keeps its whole message: UTF-8, empty, or longer than the first buffer', () => {
    expect(failWith(13, 'größer ☃').sentence).toContain('größer ☃')
    expect(failWith(13, '').sentence).toBe('fail_with answered INTERNAL: no message')
    const long = 'x'.repeat(1023)
    expect(failWith(13, long).details['text']).toBe(long)
  })

  test('nothing is left behind', () => {
    const before = liveObjects()
    for (let i = 0; i < 100; i++) failWith(3, 'again')
    expect(liveObjects()).toStrictEqual(before)
  })

  test('may be a C++ exception', () => {
    const call = typedHandler(cppKernels, 'throw_runtime_error').prepare({ attrs: { message: 'out of luck' } })
    for (let i = 0; i < 3; i++) {
      expect(() => call.run([], [])).toThrow(UnknownError)
      expect(() => call.run([], [])).toThrow(/^throw_runtime_error threw a C\+\+ exception: out of luck/)
    }
    call.close()
  })

  test('may be an exception other than std::exception', () => {
    const call = typedHandler(cppKernels, 'throw_int').prepare({})
    expect(() => call.run([], [])).toThrow(/^throw_int threw a C\+\+ exception: unknown/)
    call.close()
  })
})

describe('a call is kept for the next call', () => {
  const scaleShift = customCall(kernels, 'scale_shift')
  const base = { activation: 'none', clip: false, times: s64(1), limits: { low: f32(0), high: f32(1) } }
  const x = filled([2], (i) => i)
  const result = (attrs: AttributeDictionary): unknown =>
    scaleShift([x], { results: [f32([2])], attrs: { ...base, ...attrs } }).toArray()

  test('unless its attributes differ, even if they are the same objects', () => {
    const shift = new Float32Array([1])
    const limits = { low: f32(0), high: f32(1) }
    const attrs = { scale: f32(2), shift, limits }
    expect(result(attrs)).toStrictEqual([1, 3])
    expect(result(attrs)).toStrictEqual([1, 3])
    shift[0] = 5
    expect(result(attrs)).toStrictEqual([5, 7])
    limits.high = f32(6)
    expect(result({ ...attrs, clip: true })).toStrictEqual([5, 6])
    expect(result({ ...attrs, scale: f32(3) })).toStrictEqual([5, 8])
    expect(result({ ...attrs, shift: new Float32Array([5, 5]) })).toStrictEqual([5, 7])
    expect(result({ ...attrs, activation: 'relu' })).toStrictEqual([5, 7])
    expect(() => result({ ...attrs, scale: f64(2) })).toThrow(InvalidArgumentError)
    expect(() => result({ ...attrs, scale: undefined as never })).toThrow(ArgumentError)
    expect(result(attrs)).toStrictEqual([5, 7])
  })

  test('unless its types differ', () => {
    for (const shape of [[2], [3], [1, 2], [2]]) {
      const y = rmsNorm([filled(shape, () => 2)], { results: [f32(shape)], attrs: { eps: f32(0) } })
      expect(y.toArray().every((value) => value === 1)).toBe(true)
    }
    const y = tensor('f32', [2])
    expect(() => rmsNorm([x], { results: [y], attrs: { eps: f32(0) }, alignment: 3 })).toThrow(ArgumentError)
  })

  test('but not after its library was closed', () => {
    const library = NativeLibrary.open(kernels.path)
    const mine = customCall(library, 'rms_norm')
    const options = { results: [f32([2])], attrs: { eps: f32(0) } } as const
    expect(mine([x], options).shape).toStrictEqual([2])
    library.close()
    expect(() => mine([x], options)).toThrow(ScopeClosedError)
  })
})

test('operands and results must be arrays of tensors and types', () => {
  expect(() => rmsNorm(null as never, { results: [] })).toThrow(/operands must be an array of tensors, got null/)
  expect(() => rmsNorm([1 as never], { results: [] })).toThrow(/operand 0 must be a tensor, got 1/)
  expect(() => rmsNorm([], {} as never)).toThrow(/results must be an array of tensors or types, got undefined/)
  expect(() => rmsNorm([], undefined as never)).toThrow(/results must be an array/)
  expect(() => rmsNorm([], { results: [5 as never] })).toThrow(/result 0 must be a tensor or a type, got 5/)
  const prepare = (options: unknown): unknown => typedHandler(kernels, 'rms_norm').prepare(options as never)
  expect(() => prepare(undefined)).toThrow(/the options of rms_norm must be an object, got undefined/)
})
