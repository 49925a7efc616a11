import {
  ArgumentError,
  NativeLibrary,
  parseSignature,
  ScopeHeldError,
  tensor,
  tensorSymbol,
  type Tensor,
  type TensorLike,
} from '@tenon/core'
import { addressOf } from '@tenon/core/internal'
import {
  batch,
  customCall,
  f32,
  FunctionTarget,
  hostCall,
  targetCall,
  typedHandler,
  type Kernel,
} from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { NativeScope } from '@tenon/scope'
import { describe, expect, test } from 'vitest'
import { kernels } from './kernels.ts'

const kernel = <Result = Tensor>(name: string, text: string): Kernel<Result> =>
  targetCall<Result>(parseSignature(name, text), typedHandler(kernels, name))

const saxpy = kernel('saxpy', '(x: f32[n], y: f32[n]) -> (out: f32[n]); a: f32')

/** The structures of other libraries with these values. */
const structures: Record<string, (values: Float32Array) => object> = {
  'a TypedArray': (values) => values,
  '{ data, dims }': (values) => ({ data: values, dims: [values.length] }),
  onnxruntime: (values) => ({ type: 'float32', data: values, dims: [values.length], location: 'cpu' }),
  ndarray: (values) => ({ data: values, shape: [values.length], stride: [1], offset: 0 }),
  'an offer': (values) => ({
    [tensorSymbol]: () => ({ version: 1, dtype: 'float32', shape: [values.length], buffer: values.buffer }),
  }),
}

const one = (): Float32Array => Float32Array.of(1, 2, 3, 4)
const y = tensor([10, 20, 30, 40])

describe.each(Object.entries(structures))('%s is an operand and a result', (_, make) => {
  test('of a kernel, in each of its forms', async () => {
    const [values, out] = [one(), one()]
    for (let i = 0; i < 3; i++) {
      values[0] = i
      expect(saxpy(make(values) as never, y, { a: 2 }).toArray()).toEqual([2 * i + 10, 24, 36, 48])
    }
    const result = saxpy(make(values) as never, make(values) as never, { a: 1 }, { into: make(out) as Tensor })
    expect([...out]).toEqual([4, 4, 6, 8])
    expect(result.address).toBe(addressOf(out.buffer))
    await expect(saxpy.async(make(values) as never, y, { a: 0 }).then((r) => r.toArray())).resolves.toEqual([
      10, 20, 30, 40,
    ])
    await saxpy.async(y, make(values) as never, { a: 0 }, { into: { out: make(out) as Tensor } })
    expect([...out]).toEqual([...values])
  })

  test('of prepared, bound and listed calls, and of batches', async () => {
    const [values, out] = [one(), one()]
    const call = saxpy.prepare([make(values) as Tensor, y], { a: 2 })
    call.run([make(values) as Tensor, y], [make(out) as Tensor])
    expect([...out]).toEqual([12, 24, 36, 48])
    await call.runAsync([y, make(values) as Tensor], [make(out) as Tensor])
    expect([...out]).toEqual([21, 42, 63, 84])
    using bound = call.bind([make(values) as Tensor, y], [make(out) as Tensor])
    values[0] = 100
    bound.run()
    expect(out[0]).toBe(210)
    using steps = batch([{ call, operands: [make(values) as Tensor, y], results: [make(out) as Tensor] }])
    out.fill(0)
    steps.run()
    expect(out[0]).toBe(210)
    const listed = customCall(kernels, 'saxpy')
    listed([make(values) as TensorLike, y], { results: [make(out) as Tensor], attrs: { a: f32(1) } })
    expect(out[0]).toBe(110)
    const made = listed([y, make(values) as Tensor], { results: [f32([4])], attrs: { a: f32(0) } }) as Tensor
    expect(made.toArray()).toEqual([...values])
  })
})

describe('other values', () => {
  test('that have another type, or need a copy, are refused with the name of the operand', () => {
    const wide = { data: new Float64Array(4), dims: [4] }
    expect(() => saxpy(wide as never, y, { a: 1 })).toThrow(ArgumentError)
    expect(() => saxpy(wide as never, y, { a: 1 })).toThrow(/x of saxpy.*float64/)
    const reversed = { data: one(), shape: [4], stride: [-1], offset: 3 }
    expect(() => saxpy(reversed as never, y, { a: 1 })).toThrow(/x of saxpy must have no negative strides/)
    const strided = { data: new Float32Array(8), shape: [4], stride: [2], offset: 0 }
    expect(() => saxpy(strided as never, y, { a: 1 })).toThrow(ArgumentError)
    expect(() => saxpy({ a: 1 } as never, y, { a: 1 })).toThrow(/x of saxpy must be a tensor/)
    expect(() => saxpy([1, 2, 3, 4] as never, y, { a: 1 })).toThrow(/x of saxpy must be a tensor/)
    expect(() => saxpy(new Proxy(y, {}), y, { a: 1 })).toThrow(/got a Proxy/)
    expect(() => saxpy(one() as never, y, { a: 1 }, { into: { data: one(), out: y } as never })).toThrow(
      /no result.*data|data/,
    )
  })

  test('are read once for each call', () => {
    const reads: string[] = []
    const data = one()
    const spy = {
      get dims() {
        reads.push('dims')
        return [4]
      },
      get data() {
        reads.push('data')
        return data
      },
    }
    saxpy(spy as never, y, { a: 1 })
    expect(reads.toSorted()).toEqual(['data', 'dims'])
  })

  test('can be where operands are optional or any number', () => {
    const matmul = kernel('matmul', '(a: f32[m, k], b: f32[k, n], bias?: f32[n]) -> (c: f32[m, n])')
    const square = { data: Float32Array.of(1, 2, 3, 4), dims: [2, 2] }
    const bias = Float32Array.of(10, 20)
    expect(matmul(square as never, square as never).toArray()).toEqual([7, 10, 15, 22])
    expect(matmul(square as never, square as never, bias as never).toArray()).toEqual([17, 30, 25, 42])
  })
})

test('operands of a Host function are read, also in tuples', () => {
  const runtime = NativeLibrary.open(kernelLibrary('kernels_runtime'))
  const [v, w, x, z] = [32, 64, 128, 256].map((size) => new Float32Array(size).fill(1))
  const [totals, firsts] = hostCall(runtime, 'nested_sums')(
    [[{ data: v!, dims: [32] }, [w!, { data: x!, shape: [128], stride: [1], offset: 0 }], z!]],
    { results: [f32([512]), f32([1024])] },
  )
  const own = [32, 64, 128, 256].map((size) => tensor('f32', [size], new Float32Array(size).fill(1)))
  const [sums, heads] = hostCall(runtime, 'nested_sums')([[own[0]!, [own[1]!, own[2]!], own[3]!]], {
    results: [f32([512]), f32([1024])],
  })
  expect([totals.toArray(), firsts.toArray()]).toEqual([sums.toArray(), heads.toArray()])
})

describe('a call that runs elsewhere keeps the memory', () => {
  test('of a scope that the object only views: close() throws ScopeHeldError', async () => {
    const scope = NativeScope.ofConfined()
    const x = tensor('f32', [4], [1, 2, 3, 4], { allocator: scope })
    const running = saxpy.async({ data: x.view(), dims: [4] } as never, y, { a: 1 })
    expect(() => scope.close()).toThrow(ScopeHeldError)
    expect((await running).toArray()).toEqual([11, 22, 33, 44])
    scope.close()
  })

  test('of an object that holds it, until the promise settles', async () => {
    let holds = 0
    const buffer = one().buffer
    const description = {
      version: 1,
      dtype: 'float32',
      shape: [4],
      buffer,
      owner: {},
      hold: () => ({ release: () => void holds--, held: ++holds }),
    }
    const x = { [tensorSymbol]: () => description }
    const running = saxpy.async(x as never, y, { a: 1 })
    expect(holds).toBe(1)
    await running
    expect(holds).toBe(0)
    using call = saxpy.prepare([x as never, y], { a: 1 }).bind([x as never, y], [tensor('f32', [4])])
    expect(holds).toBe(1)
    call.close()
    expect(holds).toBe(0)
    expect(() => call.run()).toThrow(/closed/)
  })

  test('of a buffer that nothing else references', async () => {
    const running = saxpy.async(one().map((value) => value) as never, y, { a: 1 })
    globalThis.gc?.()
    expect((await running).toArray()).toEqual([11, 22, 33, 44])
  })
})

test('a function in TypeScript gets a tensor over the memory', () => {
  using target = FunctionTarget.open('negate', '(x: f32[n]) -> (y: f32[n])', ([from], [to]) => {
    to!.set((from!.view() as Float32Array).map((value) => -value))
  })
  const negate = targetCall(parseSignature('negate', '(x: f32[n]) -> (y: f32[n])'), target.handler)
  expect((negate(one() as never) as Tensor).toArray()).toEqual([-1, -2, -3, -4])
})
