import { describe, test } from 'vitest'
import * as reference from './reference.ts'
import { clamp, expectClose, run, sample, scalar } from './run-operation.ts'

const kinds = [
  { type: 'TENSOR_FLOAT32', out: {}, tolerance: 1e-5 },
  { type: 'TENSOR_QUANT8_ASYMM', zeroPoint: 120, out: { scale: 0.1, zeroPoint: 100 }, tolerance: 0.0501 },
  { type: 'TENSOR_QUANT8_ASYMM_SIGNED', zeroPoint: -3, out: { scale: 0.1, zeroPoint: 4 }, tolerance: 0.0501 },
] as const

type Kind = (typeof kinds)[number]
const inputOf = (kind: Kind, shape: readonly number[], isInput = true) =>
  sample(kind.type, shape, 'zeroPoint' in kind ? { zeroPoint: kind.zeroPoint } : {}, isInput)
const settle = (kind: Kind, array: reference.Array4): reference.Array4 =>
  'scale' in kind.out ? clamp(array, kind.type, kind.out.scale, kind.out.zeroPoint) : array

describe.each(kinds)('$type', (kind) => {
  const { type, out, tolerance } = kind
  const binary = {
    ADD: (a: number, b: number) => a + b,
    SUB: (a: number, b: number) => a - b,
    MUL: (a: number, b: number) => a * b,
    DIV: (a: number, b: number) => a / b,
  }

  test.each(
    Object.keys(binary).filter((name) => name !== 'DIV' || type === 'TENSOR_FLOAT32') as (keyof typeof binary)[],
  )('%s broadcasts and bounds', async (name) => {
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
          type === 'TENSOR_FLOAT32' ? 1e-6 * largest : tolerance,
        )
      }
    }
  })

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
      type === 'TENSOR_FLOAT32' ? 0 : 0.0251,
    )
  })

  test.each([
    ['TANH', Math.tanh, 1 / 128, 128],
    ['LOGISTIC', (x: number) => 1 / (1 + Math.exp(-x)), 1 / 256, 0],
  ] as const)('%s', async (name, operate, scale, zero) => {
    const x = inputOf(kind, [200])
    const fixed =
      type === 'TENSOR_FLOAT32' ? {} : { scale, zeroPoint: type === 'TENSOR_QUANT8_ASYMM' ? zero : zero - 128 }
    expectClose(
      await run(name, [x.value], { type, dimensions: [200], ...fixed }),
      reference.unary(x.array, operate),
      type === 'TENSOR_FLOAT32' ? 1e-6 : scale * 1.001,
    )
  })

  test('SOFTMAX along any axis', async () => {
    const fixed =
      type === 'TENSOR_FLOAT32' ? {} : { scale: 1 / 256, zeroPoint: type === 'TENSOR_QUANT8_ASYMM' ? 0 : -128 }
    for (const axis of [undefined, 0, 1, -3]) {
      const x = inputOf(kind, [2, 5, 3])
      const expected = reference.softmax(x.array, 0.7, axis === undefined ? 2 : axis < 0 ? axis + 3 : axis)
      const inputs = [x.value, scalar(0.7, 'FLOAT32'), ...(axis === undefined ? [] : [scalar(axis)])]
      expectClose(
        await run('SOFTMAX', inputs, { type, dimensions: [2, 5, 3], ...fixed }),
        expected,
        type === 'TENSOR_FLOAT32' ? 1e-6 : 1.001 / 256,
      )
    }
  })

  test('CONCATENATION, of different scales too', async () => {
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
        type === 'TENSOR_FLOAT32' ? 0 : tolerance,
      )
    }
  })

  /** A bias for products of an input and a filter. */
  const biasOf = (channels: number) =>
    type === 'TENSOR_FLOAT32'
      ? sample(type, [channels], {}, false)
      : sample('TENSOR_INT32', [channels], { scale: 0.05 * 0.05 }, false)

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
      const [rows, left, top] = place(
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
      const close = type === 'TENSOR_FLOAT32' ? 1e-4 : 0.2501
      const bound = (array: reference.Array4): reference.Array4 =>
        'scale' in wide ? clamp(array, type, wide.scale!, wide.zeroPoint!) : array

      const filter = inputOf(kind, [4, filterHeight, filterWidth, 3], false)
      const bias = biasOf(4)
      const convolved = bound(reference.convolution(image.array, filter.array, bias.array, windows, 1))
      const inputs = [image.value, filter.value, bias.value, ...pads, scalar(strideWidth), scalar(strideHeight)]
      expectClose(
        await run('CONV_2D', [...inputs, scalar(1), ...extra], { type, dimensions: convolved.shape, ...wide }),
        convolved,
        close,
      )

      const single = inputOf(kind, [1, filterHeight, filterWidth, 6], false)
      const bias6 = biasOf(6)
      const separate = bound(reference.depthwise(image.array, single.array, bias6.array, windows, 0))
      const depthwise = [
        image.value,
        single.value,
        bias6.value,
        ...pads,
        scalar(strideWidth),
        scalar(strideHeight),
        scalar(2),
        scalar(0),
        ...extra,
      ]
      expectClose(
        await run('DEPTHWISE_CONV_2D', depthwise, { type, dimensions: separate.shape, ...wide }),
        separate,
        close,
      )
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
      type === 'TENSOR_FLOAT32' ? 1e-4 : 0.2501,
    )
  })

  test.each([
    ['AVERAGE_POOL_2D', true],
    ['MAX_POOL_2D', false],
  ] as const)('%s', async (name, isAverage) => {
    const same = 'zeroPoint' in kind ? { scale: 0.05, zeroPoint: kind.zeroPoint } : {}
    for (const padding of [[1, 0, 1, 1], 1, 2] as const) {
      const image = inputOf(kind, [2, 6, 5, 3])
      const [size, left, top] = place(padding, [2, 1], [3, 2], 5, 6)
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
        type === 'TENSOR_FLOAT32' ? 1e-6 : 0.0251,
      )
    }
  })

  if (type !== 'TENSOR_FLOAT32')
    test('QUANTIZE and DEQUANTIZE', async () => {
      const { scale, zeroPoint } = out as { scale: number; zeroPoint: number }
      const x = sample('TENSOR_FLOAT32', [3, 40])
      expectClose(
        await run('QUANTIZE', [x.value], { type, dimensions: [3, 40], scale, zeroPoint }),
        clamp(x.array, type, scale, zeroPoint),
        scale * 0.501,
      )
      const q = inputOf(kind, [3, 40])
      expectClose(await run('DEQUANTIZE', [q.value], { type: 'TENSOR_FLOAT32', dimensions: [3, 40] }), q.array, 1e-5)
    })
})

/** Output size, and padding left and top, of windows over an image. */
function place(
  padding: number | readonly number[],
  [strideWidth, strideHeight]: readonly [number, number],
  [width, height]: readonly [number, number],
  imageWidth: number,
  imageHeight: number,
): [readonly [number, number], number, number] {
  const along = (image: number, window: number, stride: number, before: number, after: number): [number, number] => {
    if (padding === 1) {
      const places = Math.ceil(image / stride)
      return [places, Math.floor(Math.max((places - 1) * stride + window - image, 0) / 2)]
    }
    return [Math.floor((image + before + after - window) / stride) + 1, before]
  }
  const [left = 0, right = 0, top = 0, bottom = 0] = typeof padding === 'number' ? [] : padding
  const [columns, padLeft] = along(imageWidth, width, strideWidth, left, right)
  const [rows, padTop] = along(imageHeight, height, strideHeight, top, bottom)
  return [[rows, columns], padLeft, padTop]
}
