import { afterAll, describe, expect, test } from 'vitest'
import { buildModel, createPool, cpuKernels, localDriver, operandTypes, type OperandHandle, type OperandType } from '../src/index.ts'
import { encodeValue, type ConstantValue } from '../src/model/encode-value.ts'
import * as reference from './reference.ts'
import { expectFailure } from './support.ts'

const driver = localDriver()
afterAll(() => driver.close())

interface Operand {
  readonly type: OperandType
  readonly dimensions: readonly number[]
  readonly scale?: number
  readonly zeroPoint?: number
}
interface Value extends Operand {
  readonly raw: ConstantValue
}

/** Runs one operation: values of `inputs` come with the request where `isInput`, else from the model. */
async function run(operation: string, inputs: readonly (Value & { readonly isInput?: boolean })[], output: Operand): Promise<{ dimensions: readonly number[]; values: number[] }> {
  using model = buildModel((g) => {
    const handles: OperandHandle[] = inputs.map(({ type, dimensions, raw, isInput, ...quantization }) =>
      isInput === false ? g.constant(type, dimensions, raw, quantization) : g.input(type, dimensions, quantization),
    )
    g.output(g.operation(operation, handles, output))
  })
  using prepared = await driver.prepare(model)
  using pool = createPool(1 << 20)
  let at = 0
  const given = inputs.flatMap(({ type, dimensions, raw, isInput }) => {
    if (isInput === false) return []
    const bytes = encodeValue(type, raw)
    pool.write(at, bytes)
    const slice = pool.slice(at, bytes.length, { dimensions })
    at = Math.ceil((at + bytes.length) / 64) * 64
    return [slice]
  })
  const result = prepared.executeSync({ inputs: given, outputs: [pool.slice(1 << 19, capacity(output))] })
  const { dimensions } = result.outputs[0]!
  const bytes = pool.read(1 << 19, reference.count(dimensions) * operandTypes[output.type].byteSize)
  const raw = [...typed(output.type, bytes)]
  return { dimensions, values: output.scale === undefined ? raw : raw.map((value) => output.scale! * (value - (output.zeroPoint ?? 0))) }
}

const capacity = ({ type, dimensions }: Operand): number => (dimensions.includes(0) || dimensions.length === 0 ? 1 << 18 : reference.count(dimensions) * operandTypes[type].byteSize)

function typed(type: OperandType, bytes: Uint8Array<ArrayBuffer>): Iterable<number> {
  if (type === 'TENSOR_FLOAT32') return new Float32Array(bytes.buffer)
  if (type === 'TENSOR_INT32') return new Int32Array(bytes.buffer)
  return type === 'TENSOR_QUANT8_ASYMM' ? bytes : new Int8Array(bytes.buffer)
}

let seed = 1
/** A number from -1 to 1, the same in each run. */
const random = (): number => {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fff_ffff
  return seed / 0x4000_0000 - 1
}

/** A random tensor: as the driver gets it, and what it stands for. */
function sample(type: OperandType, shape: readonly number[], quantization: { scale?: number; zeroPoint?: number } = {}, isInput = true): { value: Value & { isInput: boolean }; array: reference.Array4 } {
  const { scale = 0.05, zeroPoint = 0 } = quantization
  const total = reference.count(shape)
  const isFloat = type === 'TENSOR_FLOAT32'
  const least = type === 'TENSOR_QUANT8_ASYMM' ? 0 : -128
  const raw = Array.from({ length: total }, () =>
    isFloat ? Math.fround(random() * 4) : type === 'TENSOR_INT32' ? Math.round(random() * 40) : Math.min(Math.max(Math.round(random() * 128 + 128 + least), least), least + 255),
  )
  const real = isFloat ? raw : raw.map((value) => Math.fround(scale) * (value - zeroPoint))
  return { value: { type, dimensions: shape, raw, isInput, ...(isFloat ? {} : { scale, zeroPoint }) }, array: { shape, values: real } }
}

const scalar = (value: number, type: 'INT32' | 'FLOAT32' | 'BOOL' = 'INT32'): Value & { isInput: false } => ({ type, dimensions: [], raw: value, isInput: false })

function expectClose(actual: { dimensions: readonly number[]; values: number[] }, expected: reference.Array4, tolerance: number): void {
  expect(actual.dimensions).toEqual(expected.shape)
  const worst = Math.max(...actual.values.map((value, i) => Math.abs(value - expected.values[i]!)))
  expect(worst).toBeLessThanOrEqual(tolerance)
}

/** The nearest that a quantized type comes to a real number: the bound of its range included. */
const clamp = (array: reference.Array4, type: OperandType, scale: number, zeroPoint: number): reference.Array4 => {
  const least = type === 'TENSOR_QUANT8_ASYMM' ? 0 : -128
  return { shape: array.shape, values: array.values.map((value) => Math.min(Math.max(value, scale * (least - zeroPoint)), scale * (least + 255 - zeroPoint))) }
}

/** The types that most operations take, with quantization and how close results must come. */
const kinds = [
  { type: 'TENSOR_FLOAT32', out: {}, tolerance: 1e-5 },
  { type: 'TENSOR_QUANT8_ASYMM', zeroPoint: 120, out: { scale: 0.1, zeroPoint: 100 }, tolerance: 0.0501 },
  { type: 'TENSOR_QUANT8_ASYMM_SIGNED', zeroPoint: -3, out: { scale: 0.1, zeroPoint: 4 }, tolerance: 0.0501 },
] as const

type Kind = (typeof kinds)[number]
const inputOf = (kind: Kind, shape: readonly number[], isInput = true) => sample(kind.type, shape, 'zeroPoint' in kind ? { zeroPoint: kind.zeroPoint } : {}, isInput)
const settle = (kind: Kind, array: reference.Array4): reference.Array4 => ('scale' in kind.out ? clamp(array, kind.type, kind.out.scale, kind.out.zeroPoint) : array)

describe.each(kinds)('$type', (kind) => {
  const { type, out, tolerance } = kind
  const binary = { ADD: (a: number, b: number) => a + b, SUB: (a: number, b: number) => a - b, MUL: (a: number, b: number) => a * b, DIV: (a: number, b: number) => a / b }

  test.each(Object.keys(binary).filter((name) => name !== 'DIV' || type === 'TENSOR_FLOAT32') as (keyof typeof binary)[])('%s broadcasts and bounds', async (name) => {
    for (const [first, second] of [[[2, 3, 4], [2, 3, 4]], [[2, 3, 4], [4]], [[3, 1], [2, 1, 5]], [[1], [7]]] as const) {
      for (let activation = 0; activation < 4; activation++) {
        const [a, b] = [inputOf(kind, first), inputOf(kind, second)]
        const expected = settle(kind, reference.binary(a.array, b.array, binary[name], activation))
        const largest = Math.max(1, ...expected.values.map(Math.abs))
        expectClose(await run(name, [a.value, b.value, scalar(activation)], { type, dimensions: expected.shape, ...out }), expected, type === 'TENSOR_FLOAT32' ? 1e-6 * largest : tolerance)
      }
    }
  })

  test.each([['RELU', 1], ['RELU1', 2], ['RELU6', 3]] as const)('%s', async (name, activation) => {
    const x = inputOf(kind, [3, 50])
    const same = 'zeroPoint' in kind ? { scale: 0.05, zeroPoint: kind.zeroPoint } : {}
    expectClose(await run(name, [x.value], { type, dimensions: [3, 50], ...same }), reference.unary(x.array, reference.activations[activation]!), type === 'TENSOR_FLOAT32' ? 0 : 0.0251)
  })

  test.each([['TANH', Math.tanh, 1 / 128, 128], ['LOGISTIC', (x: number) => 1 / (1 + Math.exp(-x)), 1 / 256, 0]] as const)('%s', async (name, operate, scale, zero) => {
    const x = inputOf(kind, [200])
    const fixed = type === 'TENSOR_FLOAT32' ? {} : { scale, zeroPoint: type === 'TENSOR_QUANT8_ASYMM' ? zero : zero - 128 }
    expectClose(await run(name, [x.value], { type, dimensions: [200], ...fixed }), reference.unary(x.array, operate), type === 'TENSOR_FLOAT32' ? 1e-6 : scale * 1.001)
  })

  test('SOFTMAX along any axis', async () => {
    const fixed = type === 'TENSOR_FLOAT32' ? {} : { scale: 1 / 256, zeroPoint: type === 'TENSOR_QUANT8_ASYMM' ? 0 : -128 }
    for (const axis of [undefined, 0, 1, -3]) {
      const x = inputOf(kind, [2, 5, 3])
      const expected = reference.softmax(x.array, 0.7, axis === undefined ? 2 : axis < 0 ? axis + 3 : axis)
      const inputs = [x.value, scalar(0.7, 'FLOAT32'), ...(axis === undefined ? [] : [scalar(axis)])]
      expectClose(await run('SOFTMAX', inputs, { type, dimensions: [2, 5, 3], ...fixed }), expected, type === 'TENSOR_FLOAT32' ? 1e-6 : 1.001 / 256)
    }
  })

  test('CONCATENATION, of different scales too', async () => {
    for (const axis of [0, 1, 2]) {
      const parts = [1, 2, 3].map((size) => inputOf(kind, [2, 3, 4].map((old, i) => (i === axis ? size : old))))
      const expected = settle(kind, reference.concatenation(parts.map(({ array }) => array), axis))
      expectClose(await run('CONCATENATION', [...parts.map(({ value }) => value), scalar(axis)], { type, dimensions: expected.shape, ...out }), expected, type === 'TENSOR_FLOAT32' ? 0 : tolerance)
    }
  })

  /** A bias for products of an input and a filter. */
  const biasOf = (channels: number) => (type === 'TENSOR_FLOAT32' ? sample(type, [channels], {}, false) : sample('TENSOR_INT32', [channels], { scale: 0.05 * 0.05 }, false))

  test.each([
    ['explicit padding', [1, 2, 0, 1], [2, 1], [1, 1], 10],
    ['explicit padding and dilations', [2, 2, 1, 1], [1, 1], [2, 3], 13],
    ['scheme 1', 1, [2, 2], [1, 1], 7],
    ['scheme 2', 2, [1, 2], [1, 1], 7],
    ['scheme 1 with dilations', 1, [1, 1], [2, 2], 10],
  ] as const)('CONV_2D and DEPTHWISE_CONV_2D with %s', async (_, padding, [strideWidth, strideHeight], [dilationWidth, dilationHeight], inputCount) => {
    const [height, width, filterHeight, filterWidth] = [7, 6, 3, 2]
    const [rows, left, top] = place(padding, [strideWidth, strideHeight], [(filterWidth - 1) * dilationWidth + 1, (filterHeight - 1) * dilationHeight + 1], width, height)
    const windows = { padLeft: left, padTop: top, strideWidth, strideHeight, dilationWidth, dilationHeight, size: rows }
    const pads = typeof padding === 'number' ? [scalar(padding)] : padding.map((value) => scalar(value))
    const extra = inputCount === 13 || inputCount === 10 && typeof padding === 'number' ? [scalar(0, 'BOOL'), scalar(dilationWidth), scalar(dilationHeight)] : []
    const image = inputOf(kind, [2, height, width, 3])
    const wide = 'scale' in out ? { scale: 0.5, zeroPoint: out.zeroPoint } : {}
    const close = type === 'TENSOR_FLOAT32' ? 1e-4 : 0.2501
    const bound = (array: reference.Array4): reference.Array4 => ('scale' in wide ? clamp(array, type, wide.scale!, wide.zeroPoint!) : array)

    const filter = inputOf(kind, [4, filterHeight, filterWidth, 3], false)
    const bias = biasOf(4)
    const convolved = bound(reference.convolution(image.array, filter.array, bias.array, windows, 1))
    const inputs = [image.value, filter.value, bias.value, ...pads, scalar(strideWidth), scalar(strideHeight)]
    expectClose(await run('CONV_2D', [...inputs, scalar(1), ...extra], { type, dimensions: convolved.shape, ...wide }), convolved, close)

    const single = inputOf(kind, [1, filterHeight, filterWidth, 6], false)
    const bias6 = biasOf(6)
    const separate = bound(reference.depthwise(image.array, single.array, bias6.array, windows, 0))
    const depthwise = [image.value, single.value, bias6.value, ...pads, scalar(strideWidth), scalar(strideHeight), scalar(2), scalar(0), ...extra]
    expectClose(await run('DEPTHWISE_CONV_2D', depthwise, { type, dimensions: separate.shape, ...wide }), separate, close)
  })

  test('FULLY_CONNECTED', async () => {
    const [x, weights, bias] = [inputOf(kind, [2, 3, 4]), inputOf(kind, [5, 12], false), biasOf(5)]
    const wide = 'scale' in out ? { scale: 0.5, zeroPoint: out.zeroPoint } : {}
    const exact = reference.fullyConnected(x.array, weights.array, bias.array, 1)
    const expected = 'scale' in wide ? clamp(exact, type, wide.scale!, wide.zeroPoint!) : exact
    expectClose(await run('FULLY_CONNECTED', [x.value, weights.value, bias.value, scalar(1)], { type, dimensions: [2, 5], ...wide }), expected, type === 'TENSOR_FLOAT32' ? 1e-4 : 0.2501)
  })

  test.each([['AVERAGE_POOL_2D', true], ['MAX_POOL_2D', false]] as const)('%s', async (name, isAverage) => {
    const same = 'zeroPoint' in kind ? { scale: 0.05, zeroPoint: kind.zeroPoint } : {}
    for (const padding of [[1, 0, 1, 1], 1, 2] as const) {
      const image = inputOf(kind, [2, 6, 5, 3])
      const [size, left, top] = place(padding, [2, 1], [3, 2], 5, 6)
      const pads = typeof padding === 'number' ? [scalar(padding)] : padding.map((value) => scalar(value))
      const expected = reference.pool(image.array, 2, 3, { padLeft: left, padTop: top, strideWidth: 2, strideHeight: 1, size }, isAverage, 3)
      const inputs = [image.value, ...pads, scalar(2), scalar(1), scalar(3), scalar(2), scalar(3)]
      expectClose(await run(name, inputs, { type, dimensions: expected.shape, ...same }), expected, type === 'TENSOR_FLOAT32' ? 1e-6 : 0.0251)
    }
  })

  test.skipIf(type === 'TENSOR_FLOAT32')('QUANTIZE and DEQUANTIZE', async () => {
    const { scale, zeroPoint } = out as { scale: number; zeroPoint: number }
    const x = sample('TENSOR_FLOAT32', [3, 40])
    expectClose(await run('QUANTIZE', [x.value], { type, dimensions: [3, 40], scale, zeroPoint }), clamp(x.array, type, scale, zeroPoint), scale * 0.501)
    const q = inputOf(kind, [3, 40])
    expectClose(await run('DEQUANTIZE', [q.value], { type: 'TENSOR_FLOAT32', dimensions: [3, 40] }), q.array, 1e-5)
  })
})

/** Output size, and padding left and top, of windows over an image. */
function place(padding: number | readonly number[], [strideWidth, strideHeight]: readonly [number, number], [width, height]: readonly [number, number], imageWidth: number, imageHeight: number): [readonly [number, number], number, number] {
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

describe.each(['TENSOR_FLOAT32', 'TENSOR_INT32', 'TENSOR_QUANT8_ASYMM'] as const)('moving %s', (type) => {
  const same = type === 'TENSOR_FLOAT32' ? {} : { scale: 0.05, zeroPoint: 0 }

  test('TRANSPOSE', async () => {
    for (const order of [[2, 0, 1], [1, 0, 2], undefined]) {
      const x = sample(type, [2, 3, 4])
      const expected = reference.transpose(x.array, order ?? [2, 1, 0])
      const inputs = order === undefined ? [x.value] : [x.value, { type: 'TENSOR_INT32', dimensions: [3], raw: order, isInput: false } as const]
      expectClose(await run('TRANSPOSE', inputs, { type, dimensions: expected.shape, ...same }), expected, 1e-5)
    }
  })

  test('RESHAPE, with a shape that only the request brings', async () => {
    const x = sample(type, [2, 3, 4])
    for (const isInput of [true, false]) {
      const shape = { type: 'TENSOR_INT32', dimensions: [2], raw: [-1, 4], isInput } as const
      expectClose(await run('RESHAPE', [x.value, shape], { type, dimensions: [0, 0], ...same }), { shape: [6, 4], values: x.array.values }, 1e-5)
    }
  })

  test('GATHER', async () => {
    const x = sample(type, [3, 4, 2])
    const indices = { shape: [2, 2], values: [3, 0, 0, 1] }
    const expected = reference.gather(x.array, indices, 1)
    const inputs = [x.value, scalar(1), { type: 'TENSOR_INT32', dimensions: [2, 2], raw: indices.values } as const]
    expectClose(await run('GATHER', inputs, { type, dimensions: expected.shape, ...same }), expected, 1e-5)
  })

  test('ARGMAX', async () => {
    for (const [shape, axis] of [[[3, 4, 2], 1], [[3, 4, 2], -1], [[5], 0]] as const) {
      const x = sample(type, shape)
      const expected = reference.argmax(x.array, axis < 0 ? axis + shape.length : axis)
      expectClose(await run('ARGMAX', [x.value, scalar(axis)], { type: 'TENSOR_INT32', dimensions: expected.shape }), expected, 0)
    }
  })
})

describe('what operations refuse', () => {
  const float = (shape: readonly number[]) => sample('TENSOR_FLOAT32', shape).value
  const out = (dimensions: readonly number[]): Operand => ({ type: 'TENSOR_FLOAT32', dimensions })
  const int = (...raw: number[]): Value & { isInput: false } => ({ type: 'TENSOR_INT32', dimensions: [raw.length], raw, isInput: false })

  test.each([
    ['ADD of shapes that do not broadcast', 'ADD', [float([2, 3]), float([2, 4]), scalar(0)], out([2, 3])],
    ['ADD with an unknown activation', 'ADD', [float([2]), float([2]), scalar(4)], out([2])],
    ['ADD without an activation', 'ADD', [float([2]), float([2])], out([2])],
    ['ADD of an axis declared otherwise', 'ADD', [float([2]), float([2]), scalar(0)], out([3])],
    ['SOFTMAX with beta 0', 'SOFTMAX', [float([2]), scalar(0, 'FLOAT32')], out([2])],
    ['RESHAPE to another count', 'RESHAPE', [float([6]), int(4, 2)], out([0, 0])],
    ['RESHAPE to a shape below 0', 'RESHAPE', [float([6]), int(-2, -3)], out([0, 0])],
    ['TRANSPOSE with an axis twice', 'TRANSPOSE', [float([2, 3]), int(0, 0)], out([2, 2])],
    ['CONCATENATION along no axis', 'CONCATENATION', [float([2]), float([2]), scalar(1)], out([4])],
    ['CONV_2D with stride 0', 'CONV_2D', [float([1, 4, 4, 1]), float([1, 2, 2, 1]), float([1]), scalar(1), scalar(0), scalar(1), scalar(0)], out([0, 0, 0, 0])],
    ['CONV_2D with a window that does not fit', 'CONV_2D', [float([1, 2, 2, 1]), float([1, 3, 3, 1]), float([1]), scalar(2), scalar(1), scalar(1), scalar(0)], out([0, 0, 0, 0])],
    ['CONV_2D with a bias too short', 'CONV_2D', [float([1, 4, 4, 1]), float([2, 2, 2, 1]), float([1]), scalar(1), scalar(1), scalar(1), scalar(0)], out([0, 0, 0, 0])],
    ['AVERAGE_POOL_2D with negative padding', 'AVERAGE_POOL_2D', [float([1, 4, 4, 1]), scalar(-1), scalar(0), scalar(0), scalar(0), scalar(1), scalar(1), scalar(2), scalar(2), scalar(0)], out([0, 0, 0, 0])],
    ['FULLY_CONNECTED of the wrong size', 'FULLY_CONNECTED', [float([2, 5]), float([3, 4]), float([3]), scalar(0)], out([2, 3])],
  ] as const)('%s', async (_, operation, inputs, output) => {
    await expectFailure(() => run(operation, inputs, output), 'INVALID_ARGUMENT')
  })

  test('GATHER with an index outside its axis', async () => {
    for (const index of [-1, 3, 2 ** 31 - 1]) {
      const inputs = [float([3]), scalar(0), { type: 'TENSOR_INT32', dimensions: [1], raw: [index] } as const]
      await expectFailure(() => run('GATHER', inputs, out([1])), 'GENERAL_FAILURE')
    }
  })
})

test('every operation of the driver is in the list of the README', () => {
  expect([...cpuKernels.keys()].sort()).toEqual(
    'ADD ARGMAX AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEQUANTIZE DIV FULLY_CONNECTED GATHER LOGISTIC MAX_POOL_2D MUL QUANTIZE RELU RELU1 RELU6 RESHAPE SOFTMAX SUB TANH TRANSPOSE'.split(' '),
  )
})
