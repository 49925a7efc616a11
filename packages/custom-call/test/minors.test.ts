import { tensor, type Tensor, type TensorType } from '@tenon/core'
import {
  f32,
  InvalidArgumentError,
  s32,
  s64,
  TargetRegistry,
  typedHandler,
  UnknownError,
  type AttributeDictionary,
  type PreparedCall,
} from '@tenon/custom-call'
import { describe, expect, test } from 'vitest'
import { cppKernels, filled, kernels, liveObjects, thrownBy } from './kernels.ts'

/** Counters pass their states as their version requires, which would crash another version. */
describe.each([1, 2, 3, 4])('handlers that were built for XLA FFI 0.%i', (minor) => {
  const clip = `clip_v${minor}`
  const handler = typedHandler(kernels, clip)
  const x = filled([3], (i) => i)
  const bounds = { low: f32(1), high: f32(1.5) }
  const failure = (
    operands: readonly TensorType[],
    results: readonly TensorType[],
    attrs: AttributeDictionary = bounds,
  ): Error & { text: string } => {
    const error = thrownBy(() => {
      using call = handler.prepare({ operands, results, attrs })
      const make = ({ dtype, shape }: TensorType): Tensor => tensor(dtype, shape)
      call.run(operands.map(make), results.map(make))
    }) as Error & { details: { text: string } }
    expect(error).toBeInstanceOf(InvalidArgumentError)
    return Object.assign(error, { text: error.details.text })
  }

  test('report their version', () => {
    expect(handler.metadata).toMatchObject({ version: `0.${minor}`, major: 0, minor })
  })

  test('get a frame that they can read', () => {
    using call = handler.prepare({ operands: [x], results: [x], attrs: { high: f32(1.5), low: f32(1) } })
    const y = tensor('f32', [3])
    call.run([x], [y])
    expect(y.toArray()).toEqual([1, 1, 1.5])
  })

  test('check counts before they decode operands', () => {
    expect(failure([], [f32([3])]).text).toMatch(/Wrong number of arguments: expected 1 but got 0/)
    expect(failure([s64([3])], []).text).toMatch(/Wrong number of results: expected 1 but got 0/)
    expect(failure([s64([3])], [f32([3])], { low: f32(1) }).text).toMatch(
      /Wrong number of attributes: expected 2 but got 1 with name\(s\): low/,
    )
  })

  test('report all operands that they cannot decode at once', () => {
    const error = failure([s32([3])], [f32([3, 1])], { low: s64(1), high: 'much' })
    expect(error.text).toMatch(/bad operands at: 0, 1, 2, 3/)
    expect(error).toMatchObject({
      diagnostics: [
        'Wrong buffer dtype: expected F32 but got S32',
        'Wrong buffer rank: expected 1 but got 2',
        'Wrong attribute type: expected scalar but got string (attribute high)',
        'Wrong scalar data type: expected F32 but got S64 (attribute low)',
      ],
    })
  })

  test('may check sizes themselves', () => {
    expect(failure([f32([3])], [f32([4])]).text).toMatch(/y must have the shape of x/)
  })

  test('refuse another stage', () => {
    const both = typedHandler(kernels, { execute: clip, instantiate: clip })
    expect(thrownBy(() => both.prepare({ operands: [x], results: [x], attrs: bounds }))).toMatchObject({
      codeName: 'INVALID_ARGUMENT',
      stage: 'instantiate',
    })
  })

  test('may throw, which becomes an error', () => {
    using call = typedHandler(cppKernels, `throw_v${minor}`).prepare({})
    const error = thrownBy(() => call.run([], []))
    expect(error).toBeInstanceOf(UnknownError)
    expect(error).toMatchObject({ details: { exception: true, text: `thrown by 0.${minor}` } })
  })

  test('keep a state from instantiate to close', async () => {
    const counter = typedHandler(kernels, {
      execute: `counter_v${minor}`,
      instantiate: `counter_v${minor}_instantiate`,
    })
    const call = counter.prepare({ results: [s64([])], attrs: { start: s64(5) } })
    const count = tensor('s64', [])
    for (const expected of [5n, 6n]) {
      call.run([], [count])
      expect(count.toArray()).toEqual([expected])
    }
    await call.runAsync([], [count])
    expect(count.toArray()).toEqual([7n])
    call.close()
  })

  test('2.11: may answer with a future in all runs', async () => {
    const later = minor === 3 ? 'scale_later' : `scale_later_v${minor}`
    const prepare = (factor: number): PreparedCall =>
      typedHandler(kernels, later).prepare({ operands: [x], results: [x], attrs: { factor: f32(factor) } })
    const y = tensor('f32', [3])
    using call = prepare(2)
    call.run([x], [y])
    expect(y.toArray()).toStrictEqual([0, 2, 4])
    await call.runAsync([y], [y])
    expect(y.toArray()).toStrictEqual([0, 4, 8])
    using failing = prepare(-1)
    expect(() => failing.run([x], [y])).toThrow(/the factor must not be negative/)
    await expect(failing.runAsync([x], [y])).rejects.toThrow(/OUT_OF_RANGE/)
  })

  test('2.9: schedule tasks on the thread pool', async () => {
    const ones = tensor('f32', [1024], new Float32Array(1024).fill(1))
    const name = minor === 3 ? 'sum_by_pool' : `sum_by_pool_v${minor}`
    using call = typedHandler(kernels, name).prepare({ operands: [ones], results: [f32([])] })
    const sum = tensor('f32', [])
    await call.runAsync([ones], [sum])
    expect(sum.toArray()).toStrictEqual([1024])
    call.run([ones], [sum])
    expect(sum.toArray()).toStrictEqual([1024])
  })

  test('run again with other pointers, several at a time', async () => {
    using call = handler.prepare({ operands: [x], results: [x], attrs: bounds })
    const results = Array.from({ length: 20 }, () => tensor('f32', [3]))
    await Promise.all(results.map((result) => call.runAsync([x], [result])))
    for (const result of results) expect(result.toArray()).toEqual([1, 1, 1.5])
  })

  test('are registered with their version', () => {
    const registry = new TargetRegistry()
    const registered = registry.registerTyped('clip', { execute: { library: kernels, symbol: clip } })
    expect(registered.metadata.minor).toBe(minor)
    expect(registry.registerTyped('clip', { execute: { library: kernels, symbol: clip } })).toBe(registered)
    registry.unregister('clip')
  })
})

test('nothing is left behind', () => expect(liveObjects()).toEqual({ errors: 0, futures: 0 }))
