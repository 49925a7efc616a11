import { describe, test } from 'vitest'
import * as reference from './reference.ts'
import { clamp, expectClose, run, sample, scalar } from './run-operation.ts'

const kinds = [
  { type: 'TENSOR_FLOAT32', out: {} },
  { type: 'TENSOR_FLOAT16', out: {} },
  { type: 'TENSOR_QUANT8_ASYMM', zeroPoint: 120, out: { scale: 0.1, zeroPoint: 100 } },
  { type: 'TENSOR_QUANT8_ASYMM_SIGNED', zeroPoint: -3, out: { scale: 0.1, zeroPoint: 4 } },
] as const

type Kind = (typeof kinds)[number]
const inputOf = (kind: Kind, shape: readonly number[], isInput = true) =>
  sample(kind.type, shape, 'zeroPoint' in kind ? { zeroPoint: kind.zeroPoint } : {}, isInput)
const settle = (kind: Kind, array: reference.Array4): reference.Array4 =>
  'scale' in kind.out ? clamp(array, kind.type, kind.out.scale, kind.out.zeroPoint) : array

/**
 * How far a result may be from double precision: a bound for float32; half a unit in the last place of the largest more for
 * float16, whose sums are exact; half a step of the scale for quantized types.
 */
function margin({ type }: Kind, { values }: reference.Array4, float32: number, scale: number): number {
  if (type === 'TENSOR_FLOAT32') return float32
  if (type !== 'TENSOR_FLOAT16') return 0.5005 * scale
  const largest = Math.max(...values.map(Math.abs))
  return float32 + 2 ** (Math.max(Math.floor(Math.log2(largest)), -14) - 11)
}

describe.each(kinds)('$type', (kind) => {
  const { type, out } = kind
  const isFloat = type === 'TENSOR_FLOAT32' || type === 'TENSOR_FLOAT16'
  const binary = {
    ADD: (a: number, b: number) => a + b,
    SUB: (a: number, b: number) => a - b,
    MUL: (a: number, b: number) => a * b,
    DIV: (a: number, b: number) => a / b,
  }

  test.each(Object.keys(binary).filter((name) => name !== 'DIV' || isFloat) as (keyof typeof binary)[])(
    '%s broadcasts and bounds',
    async (name) => {
      for (const [first, second] of [
        [
          [2, 3, 4],
          [2, 3, 4],
        ],
        [[2, 3, 4], [4]],
        [
          [3, 1],
          [2, 1, 5],
        ],
        [[1], [7]],
      ] as const) {
        for (let activation = 0; activation < 4; activation++) {
          const [a, b] = [inputOf(kind, first), inputOf(kind, second)]
          const expected = settle(kind, reference.binary(a.array, b.array, binary[name], activation))
          const largest = Math.max(1, ...expected.values.map(Math.abs))
          expectClose(
            await run(name, [a.value, b.value, scalar(activation)], { type, dimensions: expected.shape, ...out }),
            expected,
            margin(kind, expected, 1e-6 * largest, 0.1),
          )
        }
      }
    },
  )

  test.each([
    ['RELU', 1],
    ['RELU1', 2],
    ['RELU6', 3],
  ] as const)('%s', async (name, activation) => {
    const x = inputOf(kind, [3, 50])
    const same = 'zeroPoint' in kind ? { scale: 0.05, zeroPoint: kind.zeroPoint } : {}
    expectClose(
      await run(name, [x.value], { type, dimensions: [3, 50], ...same }),
      reference.unary(x.array, reference.activations[activation]!),
      isFloat ? 0 : 0.0251,
    )
  })

  test.each([
    ['TANH', Math.tanh, 1 / 128, 128],
    ['LOGISTIC', (x: number) => 1 / (1 + Math.exp(-x)), 1 / 256, 0],
  ] as const)('%s', async (name, operate, scale, zero) => {
    const x = inputOf(kind, [200])
    const fixed = isFloat ? {} : { scale, zeroPoint: type === 'TENSOR_QUANT8_ASYMM' ? zero : zero - 128 }
    const expected = reference.unary(x.array, operate)
    // The largest of a bounded type is a step below 1.
    expectClose(
      await run(name, [x.value], { type, dimensions: [200], ...fixed }),
      expected,
      margin(kind, expected, 1e-6, 2 * scale),
    )
  })

  test('SOFTMAX works along any axis', async () => {
    const fixed = isFloat ? {} : { scale: 1 / 256, zeroPoint: type === 'TENSOR_QUANT8_ASYMM' ? 0 : -128 }
    const beta = 0.75
    for (const axis of [undefined, 0, 1, -3]) {
      const x = inputOf(kind, [2, 5, 3])
      const expected = reference.softmax(x.array, beta, axis === undefined ? 2 : axis < 0 ? axis + 3 : axis)
      const inputs = [
        x.value,
        scalar(beta, type === 'TENSOR_FLOAT16' ? 'FLOAT16' : 'FLOAT32'),
        ...(axis === undefined ? [] : [scalar(axis)]),
      ]
      expectClose(
        await run('SOFTMAX', inputs, { type, dimensions: [2, 5, 3], ...fixed }),
        expected,
        margin(kind, expected, 1e-6, 2 / 256),
      )
    }
  })

  test('CONCATENATION works with different scales', async () => {
    for (const axis of [0, 1, 2]) {
      const parts = [1, 2, 3].map((size) =>
        inputOf(
          kind,
          [2, 3, 4].map((old, i) => (i === axis ? size : old)),
        ),
      )
      const expected = settle(
        kind,
        reference.concatenation(
          parts.map(({ array }) => array),
          axis,
        ),
      )
      expectClose(
        await run('CONCATENATION', [...parts.map(({ value }) => value), scalar(axis)], {
          type,
          dimensions: expected.shape,
          ...out,
        }),
        expected,
        isFloat ? 0 : 0.0501,
      )
    }
  })

  /** A bias for products of an input and a filter. */
  const biasOf = (channels: number) =>
    isFloat ? sample(type, [channels], {}, false) : sample('TENSOR_INT32', [channels], { scale: 0.05 * 0.05 }, false)

  /** Filters, each with a bias: of the input's type, and with a scale for each channel. */
  const filtersOf = (shape: readonly number[], channelDim: number) => {
    const alike = { filter: inputOf(kind, shape, false), bias: biasOf(shape[channelDim]!) }
    if (isFloat) return [alike]
    const scales = Array.from({ length: shape[channelDim]! }, (_, i) => 0.01 * (i + 1))
    const quantization = { scale: 0, channelQuant: { scales, channelDim } }
    const filter = sample('TENSOR_QUANT8_SYMM_PER_CHANNEL', shape, quantization, false)
    const bias = sample('TENSOR_INT32', [scales.length], { scale: 0 }, false)
    const products = scales.map((scale) => Math.fround(0.05) * Math.fround(scale))
    const values = (bias.value.raw as readonly number[]).map((value, i) => value * products[i]!)
    return [alike, { filter, bias: { ...bias, array: { ...bias.array, values } } }]
  }

  test.each([
    ['explicit padding', [1, 2, 0, 1], [2, 1], [1, 1], 10],
    ['explicit padding and dilations', [2, 2, 1, 1], [1, 1], [2, 3], 13],
    ['scheme 1', 1, [2, 2], [1, 1], 7],
    ['scheme 2', 2, [1, 2], [1, 1], 7],
    ['scheme 1 with dilations', 1, [1, 1], [2, 2], 10],
  ] as const)(
    'CONV_2D and DEPTHWISE_CONV_2D with %s',
    async (_, padding, [strideWidth, strideHeight], [dilationWidth, dilationHeight], inputCount) => {
      const [height, width, filterHeight, filterWidth] = [7, 6, 3, 2]
      const [rows, left, top] = reference.place(
        padding,
        [strideWidth, strideHeight],
        [(filterWidth - 1) * dilationWidth + 1, (filterHeight - 1) * dilationHeight + 1],
        width,
        height,
      )
      const windows = {
        padLeft: left,
        padTop: top,
        strideWidth,
        strideHeight,
        dilationWidth,
        dilationHeight,
        size: rows,
      }
      const pads = typeof padding === 'number' ? [scalar(padding)] : padding.map((value) => scalar(value))
      const extra =
        inputCount === 13 || (inputCount === 10 && typeof padding === 'number')
          ? [scalar(0, 'BOOL'), scalar(dilationWidth), scalar(dilationHeight)]
          : []
      const image = inputOf(kind, [2, height, width, 3])
      const wide = 'scale' in out ? { scale: 0.5, zeroPoint: out.zeroPoint } : {}
      const bound = (array: reference.Array4): reference.Array4 =>
        'scale' in wide ? clamp(array, type, wide.scale!, wide.zeroPoint!) : array

      const strides = [scalar(strideWidth), scalar(strideHeight)]
      for (const { filter, bias } of filtersOf([4, filterHeight, filterWidth, 3], 0)) {
        const expected = bound(reference.convolution(image.array, filter.array, bias.array, windows, 1))
        const inputs = [image.value, filter.value, bias.value, ...pads, ...strides, scalar(1), ...extra]
        const found = await run('CONV_2D', inputs, { type, dimensions: expected.shape, ...wide })
        expectClose(found, expected, margin(kind, expected, 1e-4, 0.5))
      }
      for (const { filter, bias } of filtersOf([1, filterHeight, filterWidth, 6], 3)) {
        const expected = bound(reference.depthwise(image.array, filter.array, bias.array, windows, 0))
        const inputs = [image.value, filter.value, bias.value, ...pads, ...strides, scalar(2), scalar(0), ...extra]
        const found = await run('DEPTHWISE_CONV_2D', inputs, { type, dimensions: expected.shape, ...wide })
        expectClose(found, expected, margin(kind, expected, 1e-4, 0.5))
      }
    },
  )

  test('FULLY_CONNECTED', async () => {
    const [x, weights, bias] = [inputOf(kind, [2, 3, 4]), inputOf(kind, [5, 12], false), biasOf(5)]
    const wide = 'scale' in out ? { scale: 0.5, zeroPoint: out.zeroPoint } : {}
    const exact = reference.fullyConnected(x.array, weights.array, bias.array, 1)
    const expected = 'scale' in wide ? clamp(exact, type, wide.scale!, wide.zeroPoint!) : exact
    expectClose(
      await run('FULLY_CONNECTED', [x.value, weights.value, bias.value, scalar(1)], {
        type,
        dimensions: [2, 5],
        ...wide,
      }),
      expected,
      margin(kind, expected, 1e-4, 0.5),
    )
  })

  test.each([
    ['AVERAGE_POOL_2D', true],
    ['MAX_POOL_2D', false],
  ] as const)('%s', async (name, isAverage) => {
    const same = 'zeroPoint' in kind ? { scale: 0.05, zeroPoint: kind.zeroPoint } : {}
    for (const padding of [[1, 0, 1, 1], 1, 2] as const) {
      const image = inputOf(kind, [2, 6, 5, 3])
      const [size, left, top] = reference.place(padding, [2, 1], [3, 2], 5, 6)
      const pads = typeof padding === 'number' ? [scalar(padding)] : padding.map((value) => scalar(value))
      const expected = reference.pool(
        image.array,
        2,
        3,
        { padLeft: left, padTop: top, strideWidth: 2, strideHeight: 1, size },
        isAverage,
        3,
      )
      const inputs = [image.value, ...pads, scalar(2), scalar(1), scalar(3), scalar(2), scalar(3)]
      expectClose(
        await run(name, inputs, { type, dimensions: expected.shape, ...same }),
        expected,
        margin(kind, expected, 1e-6, 0.05),
      )
    }
  })

  if (!isFloat)
    test('QUANTIZE and DEQUANTIZE', async () => {
      const { scale, zeroPoint } = out as { scale: number; zeroPoint: number }
      for (const float of ['TENSOR_FLOAT32', 'TENSOR_FLOAT16'] as const) {
        const x = sample(float, [3, 40])
        expectClose(
          await run('QUANTIZE', [x.value], { type, dimensions: [3, 40], scale, zeroPoint }),
          clamp(x.array, type, scale, zeroPoint),
          scale * 0.501,
        )
        const q = inputOf(kind, [3, 40])
        const found = await run('DEQUANTIZE', [q.value], { type: float, dimensions: [3, 40] })
        expectClose(found, q.array, float === 'TENSOR_FLOAT32' ? 1e-6 : 2 ** -8)
      }
    })
})

test('DEQUANTIZE works on symmetric types, also with a scale for each channel', async () => {
  for (const channelDim of [0, 1, 2]) {
    const scales = [0.5, 0.25, 2, 0.125].slice(0, [2, 3, 4][channelDim])
    const x = sample('TENSOR_QUANT8_SYMM_PER_CHANNEL', [2, 3, 4], { channelQuant: { scales, channelDim } })
    expectClose(await run('DEQUANTIZE', [x.value], { type: 'TENSOR_FLOAT32', dimensions: [2, 3, 4] }), x.array, 0)
  }
  const x = sample('TENSOR_QUANT8_SYMM', [2, 3], { scale: 0.25 })
  expectClose(await run('DEQUANTIZE', [x.value], { type: 'TENSOR_FLOAT32', dimensions: [2, 3] }), x.array, 0)
})
