import { ArgumentError, NativeLibrary, tensor, type Tensor } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { expect, expectTypeOf, test } from 'vitest'
import { customCall, f32, hostCall, hostFunction, typedHandler } from '../src/index.ts'
import { filled, kernels as typed } from './kernels.ts'

const kernels = NativeLibrary.open(kernelLibrary('kernels_runtime'))

const [v, w, x, y] = [32, 64, 128, 256].map((size) => filled([size], (i) => i + size)) as [
  Tensor,
  Tensor,
  Tensor,
  Tensor,
]
/** The sum of v, which is the first number of the first result. */
const total = 1520

test('a Host function gets tuples of operands and results as the design nests them', async () => {
  const sums = hostCall(kernels, 'nested_sums')
  const options = { results: [f32([512]), f32([1024])] } as const
  const one = hostFunction(kernels, 'nested_sums')
  using prepared = one.prepare({ operands: [[v, [w, x], y]], results: [f32([512]), f32([1024])] })
  const expected = [tensor('f32', [512]), tensor('f32', [1024])] as const
  prepared.run([v, w, x, y], [...expected])
  expect(expected[0].at(0)).toBe(total)
  const results = sums([[v, [w, x], y]], options)
  expect(results.map((result) => result.toArray())).toEqual(expected.map((result) => result.toArray()))
  const later = await sums.async([[v, [w, x], y]], options)
  expect(later[1].toArray()).toEqual(expected[1].toArray())
})

test('results are returned as their tuples', () => {
  const sums = hostCall(kernels, 'nested_sums')
  const tuple = sums([[v, [w, x], y]], { results: [[f32([512]), f32([1024])]] })
  expectTypeOf(tuple).toEqualTypeOf<readonly [Tensor, Tensor]>()
  expect(tuple[0].at(0)).toBe(total)
  const into = tensor('f32', [512])
  const [first, second] = sums([[v, [w, x], y]], { results: [[into, f32([1024])]] })
  expect([first === into, second.shape]).toEqual([true, [1024]])
})

test('calls with other tuples of the same tensors have frames of their own', () => {
  const flat = hostCall(kernels, 'flattened_sums')
  const nested = hostCall(kernels, 'nested_sums')
  for (let i = 0; i < 20; i++) {
    expect(flat([v, w, x, y], { results: [f32([512]), f32([1024])] })[0].at(0)).toBe(total)
    expect(nested([[v, [w, x], y]], { results: [f32([512]), f32([1024])] })[0].at(0)).toBe(total)
    // The same function with the same leaves, in another structure that it can read.
    expect(nested([[v, [w, x], y], []], { results: [f32([512]), f32([1024])] })[0].at(0)).toBe(total)
  }
})

test('tuples of what is not a tensor are refused', () => {
  const sums = hostCall(kernels, 'nested_sums')
  const results = [f32([512])]
  for (const operands of [[[null]], [[v, [5]]], [['x']], 5, null])
    expect(() => sums(operands as never, { results })).toThrow(ArgumentError)
  for (const specs of [[[null]], [[5]], 5, null])
    expect(() => sums([[v]], { results: specs as never })).toThrow(ArgumentError)
  const endless: unknown[] = []
  endless.push(endless)
  expect(() => sums(endless as never, { results })).toThrow(/nested at most 64/)
  expect(() => sums([], { results: endless as never })).toThrow(/nested at most 64/)
})

test('the options of a compiled program are checked, and have no effect on a call', () => {
  const sums = hostCall(kernels, 'nested_sums')
  const hints = { hasSideEffect: true, schedule: 'latest', literal: tensor([1]) } as const
  const [first] = sums([[v, [w, x], y]], { results: [f32([512]), f32([1024])], ...hints })
  expect(first.at(0)).toBe(total)
  const clip = customCall(typed, 'clip_v3')
  const shape = { operands: [f32([3])], results: [f32([3])] }
  hostFunction(kernels, 'flattened_sums')
    .prepare({ ...shape, ...hints })
    .close()
  for (const wrong of [{ hasSideEffect: 1 }, { schedule: 'now' }, { literal: 'x' }] as never[]) {
    expect(() => hostFunction(kernels, 'flattened_sums').prepare({ ...shape, ...(wrong as object) })).toThrow(
      ArgumentError,
    )
    expect(() => typedHandler(typed, 'clip_v3').prepare({ ...shape, ...(wrong as object) })).toThrow(ArgumentError)
    expect(() => sums([v, w, x, y], { results: [f32([512]), f32([1024])], ...(wrong as object) })).toThrow(
      ArgumentError,
    )
    expect(() => clip([v], { results: [f32([32])], ...(wrong as object) })).toThrow(ArgumentError)
  }
})
