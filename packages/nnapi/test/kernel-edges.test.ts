import { describe, expect, test } from 'vitest'
import { buildModel, localDriver, type Kernel, type OperandType } from '../src/index.ts'
import { createPool } from '@tenon/pools'
import { run, scalar, type Operand, type Value } from './run-operation.ts'
import { expectFailure } from './support.ts'

type Numbers = readonly number[]
const tensor = (
  type: OperandType,
  raw: Numbers,
  dimensions: Numbers = [raw.length],
  more: Partial<Operand> = {},
): Value => ({
  type,
  dimensions,
  raw,
  ...more,
})
const float = (raw: Numbers, dimensions?: Numbers): Value => tensor('TENSOR_FLOAT32', raw, dimensions)
const half = (raw: Numbers): Value => tensor('TENSOR_FLOAT16', raw)
const whole = (raw: Numbers): Value => tensor('TENSOR_INT32', raw)
const quant = (raw: Numbers, scale: number, zeroPoint: number, dimensions?: Numbers): Value =>
  tensor('TENSOR_QUANT8_ASYMM', raw, dimensions, { scale, zeroPoint })
const like = ({ type, dimensions, scale, zeroPoint }: Value): Operand => ({
  type,
  dimensions,
  ...(scale === undefined ? {} : { scale, zeroPoint: zeroPoint! }),
})
const zeros = (dimensions: Numbers): Value =>
  float(
    Array.from({ length: dimensions.reduce((a, b) => a * b, 1) }, () => 0),
    dimensions,
  )
const open: Operand = { type: 'TENSOR_FLOAT32', dimensions: [0, 0, 0, 0] }

describe('whole numbers', () => {
  test.each([
    ['ADD', [2 ** 31 - 1, -5, 7], [1, -6, 0], [-(2 ** 31), -11, 7]],
    ['SUB', [-(2 ** 31), 5, 0], [1, -6, 0], [2 ** 31 - 1, 11, 0]],
    ['MUL', [65_536, -3, 2 ** 30], [65_536, 7, 2], [0, -21, -(2 ** 31)]],
    ['DIV', [7, -7, 7, -7, -(2 ** 31)], [2, 2, -2, -2, -1], [3, -4, -4, 3, -(2 ** 31)]],
  ] as const)('%s wraps around, and quotients are rounded down', async (name, a, b, expected) => {
    expect((await run(name, [whole(a), whole(b), scalar(0)], like(whole(a)))).values).toEqual(expected)
  })

  test('a division by 0 fails, and an activation is refused', async () => {
    const [a, b] = [whole([1, 2]), whole([1, 0])]
    const error = await expectFailure(() => run('DIV', [a, b, scalar(0)], like(a)), 'GENERAL_FAILURE')
    expect(error.sentence).toContain('divided by 0')
    await expectFailure(() => run('ADD', [a, b, scalar(1)], like(a)), 'INVALID_ARGUMENT')
  })

  test('ARGMAX distinguishes whole numbers that float32 cannot', async () => {
    const x = whole([2 ** 24, 2 ** 24 + 1])
    expect((await run('ARGMAX', [x, scalar(0)], { type: 'TENSOR_INT32', dimensions: [1] })).values).toEqual([1])
  })

  test('CONCATENATION copies whole numbers of any scale', async () => {
    const parts = [tensor('TENSOR_INT32', [1, -2], [2], { scale: 0.5 }), whole([2 ** 30])]
    const out: Operand = { type: 'TENSOR_INT32', dimensions: [3] }
    expect((await run('CONCATENATION', [...parts, scalar(0)], out)).values).toEqual([1, -2, 2 ** 30])
  })
})

describe('quantized numbers', () => {
  test('saturate at both ends, before and after a fused activation', async () => {
    const a = quant([0, 255, 128], 1, 128)
    const wanted = [
      [-128, 127, 0],
      [0, 127, 0],
      [-1, 1, 0],
      [0, 6, 0],
    ]
    for (const [activation, values] of wanted.entries())
      expect((await run('ADD', [a, a, scalar(activation)], like(a))).values).toEqual(values)
  })

  test('halves are rounded away from zero, within the bounds of the type', async () => {
    const x = float([0.25, -0.25, 0.75, 1e30, -1e30, NaN, Infinity, 63.75])
    const out: Operand = { type: 'TENSOR_QUANT8_ASYMM_SIGNED', dimensions: [8], scale: 0.5, zeroPoint: 0 }
    expect((await run('QUANTIZE', [x], out)).values).toEqual([0.5, -0.5, 1, 63.5, -64, -64, 63.5, 63.5])
  })

  test('an output that cannot hold the bound of an activation saturates', async () => {
    const a = quant([200], 1, 0)
    const out: Operand = { type: 'TENSOR_QUANT8_ASYMM', dimensions: [1], scale: 0.01, zeroPoint: 0 }
    expect((await run('ADD', [a, a, scalar(3)], out)).values[0]).toBeCloseTo(2.55)
  })

  const image = quant([1, 2, 3, 4], 1, 0, [1, 2, 2, 1])
  const channels = (scales: Numbers, channelDim: number, dimensions: Numbers): Value =>
    tensor(
      'TENSOR_QUANT8_SYMM_PER_CHANNEL',
      Array.from({ length: dimensions.reduce((a, b) => a * b, 1) }, () => 1),
      dimensions,
      { channelQuant: { scales, channelDim } },
    )
  const bias = (scale: number, count = 1): Value =>
    tensor(
      'TENSOR_INT32',
      Array.from({ length: count }, () => 0),
      [count],
      { scale },
    )
  const convolve = (filter: Value, its: Value): Promise<unknown> =>
    run('CONV_2D', [image, filter, its, scalar(2), scalar(1), scalar(1), scalar(0)], {
      ...like(image),
      dimensions: [0, 0, 0, 0],
    })

  test.each([
    ['scales along another axis', () => convolve(channels([1, 1], 2, [1, 2, 2, 1]), bias(0))],
    ['a bias with a scale beside scales of channels', () => convolve(channels([1], 0, [1, 2, 2, 1]), bias(1))],
    ['a bias of another scale', () => convolve(quant([1, 1, 1, 1], 2, 0, [1, 2, 2, 1]), bias(1))],
    [
      'scales of channels in a FULLY_CONNECTED',
      () =>
        run('FULLY_CONNECTED', [image, channels([1], 0, [1, 4]), bias(0), scalar(0)], {
          ...like(image),
          dimensions: [1, 1],
        }),
    ],
    ['TANH to another scale than 1/128', () => run('TANH', [image], like(image))],
    ['RELU to another zero point', () => run('RELU', [image], { ...like(image), zeroPoint: 1 })],
    ['DIV', () => run('DIV', [image, image, scalar(0)], like(image))],
  ])('refused: %s', async (_, attempt) => {
    await expectFailure(attempt, 'INVALID_ARGUMENT')
  })
})

describe('floats', () => {
  test('float16 rounds to even, overflows to infinity and has subnormals', async () => {
    const [a, b] = [half([2048, 2050, 65_504, 2 ** -24, 1]), half([1, 1, 32, 2 ** -24, 2 ** -11])]
    const { values } = await run('ADD', [a, b, scalar(0)], like(a))
    expect(values).toEqual([2048, 2052, Infinity, 2 ** -23, 1])
  })

  test('NaN stays NaN, also through bounds', async () => {
    const x = float([NaN, -1, 7])
    expect((await run('RELU6', [x], like(x))).values).toEqual([NaN, 0, 6])
    expect((await run('ADD', [x, x, scalar(2)], like(x))).values).toEqual([NaN, -1, 1])
  })

  test('SOFTMAX works on numbers whose exponentials overflow', async () => {
    const x = float([1e4, 1e4, -1e4])
    expect((await run('SOFTMAX', [x, scalar(1, 'FLOAT32')], like(x))).values).toEqual([0.5, 0.5, 0])
  })

  test('SOFTMAX of float16 has a beta of float16', async () => {
    const x = half([0, 0])
    expect((await run('SOFTMAX', [x, scalar(1, 'FLOAT16')], like(x))).values).toEqual([0.5, 0.5])
    await expectFailure(() => run('SOFTMAX', [x, scalar(1, 'FLOAT32')], like(x)), 'INVALID_ARGUMENT')
    await expectFailure(() => run('SOFTMAX', [x, scalar(Infinity, 'FLOAT16')], like(x)), 'INVALID_ARGUMENT')
  })

  test('ARGMAX returns the first of equal numbers', async () => {
    const x = float([3, 5, 5, 1], [1, 4])
    expect((await run('ARGMAX', [x, scalar(-1)], { type: 'TENSOR_INT32', dimensions: [1] })).values).toEqual([1])
  })

  test('AVERAGE_POOL_2D divides only by the elements inside the image', async () => {
    const x = float([1, 2, 3, 4], [1, 2, 2, 1])
    const inputs = [x, ...[1, 1, 1, 1, 1, 1, 2, 2, 0].map((value) => scalar(value))]
    const { values } = await run('AVERAGE_POOL_2D', inputs, open)
    expect(values).toEqual([1, 1.5, 2, 2, 2.5, 3, 3, 3.5, 4])
  })
})

describe('attributes out of range are refused', () => {
  const [image, filter, single] = [zeros([1, 4, 4, 1]), zeros([1, 2, 2, 1]), zeros([1])]
  const most = 2 ** 31 - 1
  const convolve = (...numbers: Numbers) =>
    ['CONV_2D', [image, filter, single, ...numbers.map((n) => scalar(n))]] as const
  const dilate = (width: number, height: number) =>
    ['CONV_2D', [...convolve(1, 1, 1, 0)[1], scalar(0, 'BOOL'), scalar(width), scalar(height)]] as const
  const pool = (...numbers: Numbers) => ['MAX_POOL_2D', [image, ...numbers.map((n) => scalar(n))]] as const
  const depthwise = (multiplier: number) =>
    ['DEPTHWISE_CONV_2D', [image, filter, single, ...[1, 1, 1, multiplier, 0].map((n) => scalar(n))]] as const

  test.each([
    ['stride 0', convolve(1, 0, 1, 0)],
    ['stride -1', convolve(1, 1, -1, 0)],
    ['padding scheme 3', convolve(3, 1, 1, 0)],
    ['padding -1', convolve(0, -1, 0, 0, 1, 1, 0)],
    ['padding that makes too many places', convolve(most, most, 0, 0, 1, 1, 0)],
    ['dilation 0', dilate(0, 1)],
    ['dilation -1', dilate(1, -1)],
    ['images as NCHW', ['CONV_2D', [...convolve(1, 1, 1, 0)[1], scalar(1, 'BOOL')]]],
    ['a multiplier of 0', depthwise(0)],
    ['a multiplier of 2^31 - 1', depthwise(most)],
    ['a window of 0', pool(1, 1, 1, 0, 1, 0)],
    ['a window larger than the image', pool(2, 1, 1, 5, 5, 0)],
    ['padding as large as the window', pool(2, 0, 0, 0, 1, 1, 2, 2, 0)],
    ['an activation of 4', pool(1, 1, 1, 1, 1, 4)],
  ] as const)('%s', async (_, [operation, inputs]) => {
    await expectFailure(() => run(operation, inputs, open), 'INVALID_ARGUMENT')
  })

  test('the largest stride, and the largest dilation with padding, are accepted', async () => {
    const strided = await run(...convolve(1, most, most, 0), open)
    expect(strided.dimensions).toEqual([1, 1, 1, 1])
    const dilated = await run(...dilate(most - 1, most - 1), open)
    expect(dilated.dimensions).toEqual([1, 4, 4, 1])
  })

  test.each([
    ['an axis of -2', 'ARGMAX', [float([1, 2]), scalar(-2)]],
    ['an axis of 2^31 - 1', 'GATHER', [float([1, 2]), scalar(most), whole([0])]],
    ['a shape of rank 2', 'RESHAPE', [zeros([4]), tensor('TENSOR_INT32', [2, 2], [1, 2])]],
    ['a shape whose product overflows', 'RESHAPE', [zeros([4]), whole([2 ** 30, 2 ** 30, 4])]],
    ['two open axes', 'RESHAPE', [zeros([4]), whole([-1, -1])]],
  ] as const)('%s', async (_, operation, inputs) => {
    const constants = inputs.map((value, i) => (i === 0 ? value : { ...value, isInput: false }))
    await expectFailure(() => run(operation, constants, { type: 'TENSOR_FLOAT32', dimensions: [] }), 'INVALID_ARGUMENT')
  })
})

test('steps of other kernels are checked by the library before they run', async () => {
  const plans: readonly Kernel['plan'][] = [
    ([x]) => ({ dimensions: [x!.dimensions], native: { operation: 25, inputs: [0], numbers: [9], reals: [1] } }),
    ([x]) => ({ dimensions: [[2 * x!.dimensions[0]!]], native: { operation: 19, inputs: [0] } }),
    ([x]) => ({ dimensions: [x!.dimensions], native: { operation: 12_345, inputs: [0] } }),
    ([x]) => ({ dimensions: [x!.dimensions], native: { operation: 19, inputs: [0], numbers: Array(11).fill(0) } }),
  ]
  for (const plan of plans) {
    await using driver = localDriver({ kernels: new Map([['ODD', { plan }]]) })
    using model = buildModel((g) => {
      const x = g.input('TENSOR_FLOAT32', [4])
      g.output(g.operation('ODD', [x], { type: 'TENSOR_FLOAT32', dimensions: [0] }))
    })
    using pool = createPool(64)
    await expectFailure(async () => {
      using prepared = await driver.prepare(model)
      prepared.run({ inputs: [pool.slice(0, 16)], outputs: [pool.slice(16, 32)] })
    }, 'GENERAL_FAILURE')
  }
})
