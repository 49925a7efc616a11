import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { buildModel, localDriver, type OperandType } from '../src/index.ts'
import { createPool } from '@tenon/pools'
import { encodeValue } from '../src/model/values.ts'
import * as moves from './reference-moves.ts'
import * as reference from './reference.ts'
import { clamp, expectClose, run, sample, scalar, typed, type Operand, type Value } from './run-operation.ts'

const FLOATS = ['TENSOR_FLOAT32', 'TENSOR_FLOAT16'] as const
const REALS = [...FLOATS, 'TENSOR_QUANT8_ASYMM', 'TENSOR_QUANT8_ASYMM_SIGNED'] as const
const MOVABLE = [...REALS, 'TENSOR_INT32'] as const

const isFloat = (type: OperandType): boolean => type === 'TENSOR_FLOAT32' || type === 'TENSOR_FLOAT16'
const quantizationOf = (type: OperandType): { scale?: number; zeroPoint?: number } => {
  if (!type.includes('QUANT8')) return {}
  return { scale: 0.05, zeroPoint: type === 'TENSOR_QUANT8_ASYMM' ? 120 : -3 }
}

/** A random tensor, whose output has the same type, scale and zero point. */
function inputOf(type: OperandType, shape: readonly number[]): ReturnType<typeof sample> {
  const quantization = quantizationOf(type)
  const { value, array } = sample(type, shape, type === 'TENSOR_INT32' ? { scale: 1 } : quantization)
  return { value: type === 'TENSOR_INT32' ? { type, dimensions: shape, raw: value.raw, isInput: true } : value, array }
}
const like = (type: OperandType, dimensions: readonly number[]): Operand => ({
  type,
  dimensions,
  ...quantizationOf(type),
})
const list = (...raw: number[]): Value & { isInput: false } => ({
  type: 'TENSOR_INT32',
  dimensions: [raw.length],
  raw,
  isInput: false,
})
const bools = (shape: readonly number[]): { value: Value; array: reference.Array4 } => {
  const values = Array.from({ length: reference.count(shape) }, (_, i) => ((i * i + shape[0]!) % 3) % 2)
  return { value: { type: 'TENSOR_BOOL8', dimensions: shape, raw: Uint8Array.from(values) }, array: { shape, values } }
}

/** Runs an operation, and compares it: within half a step of a scale, or within the rounding of a float type. */
async function expectRun(
  operation: string,
  inputs: readonly (Value & { isInput?: boolean })[],
  type: OperandType,
  expected: reference.Array4,
): Promise<void> {
  const { scale = 0, zeroPoint = 0 } = quantizationOf(type)
  const largest = Math.max(1, ...expected.values.map(Math.abs).filter(Number.isFinite))
  const unit = type === 'TENSOR_FLOAT32' ? 1e-6 : type === 'TENSOR_FLOAT16' ? 2 ** -11 + 1e-6 : 0
  const reachable = scale === 0 ? expected : clamp(expected, type, scale, zeroPoint)
  expectClose(
    await run(operation, inputs, like(type, expected.shape)),
    reachable,
    scale === 0 ? unit * largest : 0.501 * scale,
  )
}

describe.each(REALS)('%s', (type) => {
  test('MAXIMUM, MINIMUM and PRELU broadcast', async () => {
    const operations = {
      MAXIMUM: Math.max,
      MINIMUM: Math.min,
      PRELU: (x: number, slope: number) => (x < 0 ? x * slope : x),
    }
    for (const [name, operate] of Object.entries(operations)) {
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
      ] as const) {
        const [a, b] = [inputOf(type, first), inputOf(type, second)]
        await expectRun(name, [a.value, b.value], type, reference.binary(a.array, b.array, operate, 0))
      }
    }
  })

  test('HARD_SWISH', async () => {
    const x = inputOf(type, [300])
    const swish = (v: number): number => (v * Math.min(Math.max(v + 3, 0), 6)) / 6
    await expectRun('HARD_SWISH', [x.value], type, reference.unary(x.array, swish))
  })

  test('MEAN, REDUCE_MAX and REDUCE_MIN reduce any axes, which may be negative or named twice', async () => {
    for (const axes of [[0], [-1], [1, -1], [0, 1, 2, -3], [2, 2, 0]]) {
      for (const keeps of [false, true]) {
        const x = inputOf(type, [3, 4, 5])
        const mean = (values: readonly number[]): number => values.reduce((sum, v) => sum + v, 0) / values.length
        const axesOf = list(...axes)
        const reduced = (combine: (values: readonly number[]) => number): reference.Array4 =>
          moves.reduce(x.array, axes, keeps, combine)
        await expectRun('MEAN', [x.value, axesOf, scalar(Number(keeps))], type, reduced(mean))
        const flag = scalar(Number(keeps), 'BOOL')
        await expectRun(
          'REDUCE_MAX',
          [x.value, axesOf, flag],
          type,
          reduced((values) => Math.max(...values)),
        )
        await expectRun(
          'REDUCE_MIN',
          [x.value, axesOf, flag],
          type,
          reduced((values) => Math.min(...values)),
        )
      }
    }
  })

  test('PAD fills with 0', async () => {
    const x = inputOf(type, [2, 3, 2])
    const paddings: Value = { type: 'TENSOR_INT32', dimensions: [3, 2], raw: [0, 1, 2, 0, 1, 3] }
    const pairs = [
      [0, 1],
      [2, 0],
      [1, 3],
    ] as const
    await expectRun('PAD', [x.value, { ...paddings, isInput: false }], type, moves.pad(x.array, pairs))
  })

  test.each(['RESIZE_BILINEAR', 'RESIZE_NEAREST_NEIGHBOR'] as const)(
    '%s by sizes and scales, in both layouts',
    async (name) => {
      const resize = name === 'RESIZE_BILINEAR' ? moves.resizeBilinear : moves.resizeNearest
      for (const [aligns, hasCenters] of [
        [false, false],
        [true, false],
        [false, true],
      ] as const) {
        for (const [width, height] of [
          [3, 7],
          [8, 2],
          [1, 1],
          [5, 4],
        ] as const) {
          const x = inputOf(type, [2, 4, 5, 3])
          const expected = resize(x.array, height, width, { aligns, hasCenters })
          const flags = [scalar(Number(aligns), 'BOOL'), scalar(Number(hasCenters), 'BOOL')]
          const sizes = [scalar(width), scalar(height)]
          await expectRun(name, [x.value, ...sizes, scalar(0, 'BOOL'), ...flags], type, expected)
          const channelsFirst = transposed(type, x, [0, 3, 1, 2])
          await expectRun(name, [channelsFirst, ...sizes, scalar(1, 'BOOL'), ...flags], type, moves.toNchw(expected))
        }
      }
      const x = inputOf(type, [1, 4, 5, 2])
      const real = type === 'TENSOR_FLOAT16' ? 'FLOAT16' : 'FLOAT32'
      const expected = resize(x.array, 6, 2, { aligns: false, hasCenters: false })
      await expectRun(name, [x.value, scalar(0.5, real), scalar(1.5, real), scalar(0, 'BOOL')], type, expected)
    },
  )

  test('pooling and convolutions of NCHW images are those of NHWC images', async () => {
    const x = inputOf(type, [2, 5, 6, 3])
    const first = transposed(type, x, [0, 3, 1, 2])
    const windows = { padLeft: 0, padTop: 0, strideWidth: 2, strideHeight: 1, size: [4, 3] } as const
    const tail = [2, 2, 1, 2, 2, 0].map((value) => scalar(value))
    for (const isAverage of [true, false]) {
      const expected = moves.toNchw(reference.pool(x.array, 2, 2, windows, isAverage, 0))
      const name = isAverage ? 'AVERAGE_POOL_2D' : 'MAX_POOL_2D'
      await expectRun(name, [first, ...tail, scalar(1, 'BOOL')], type, expected)
    }
    const product = isFloat(type) ? {} : { scale: Math.fround(0.05) * Math.fround(0.05) }
    const biasOf = (count: number): ReturnType<typeof sample> =>
      isFloat(type) ? sample(type, [count]) : sample('TENSOR_INT32', [count], product)
    const steps = [2, 2, 1].map((value) => scalar(value))
    const nchw = [scalar(0), scalar(1, 'BOOL')]
    const [filter, bias] = [inputOf(type, [4, 2, 2, 3]), biasOf(4)]
    const convolved = moves.toNchw(reference.convolution(x.array, filter.array, bias.array, windows, 0))
    await expectRun('CONV_2D', [first, filter.value, bias.value, ...steps, ...nchw], type, convolved)
    const [single, second] = [inputOf(type, [1, 2, 2, 6]), biasOf(6)]
    const separate = moves.toNchw(reference.depthwise(x.array, single.array, second.array, windows, 0))
    const inputs = [first, single.value, second.value, ...steps, scalar(2), ...nchw]
    await expectRun('DEPTHWISE_CONV_2D', inputs, type, separate)
  })

  test('TRANSPOSE_CONV_2D with explicit padding and by schemes, in both layouts', async () => {
    const product = isFloat(type) ? {} : { scale: Math.fround(0.05) * Math.fround(0.05) }
    const bias = isFloat(type) ? sample(type, [2]) : sample('TENSOR_INT32', [2], product)
    const [x, filter] = [inputOf(type, [2, 3, 2, 3]), inputOf(type, [2, 3, 2, 3])]
    const steps = [scalar(3), scalar(2), scalar(0)]
    // Rows: (3 - 1) * 2 + 3 = 7; columns: (2 - 1) * 3 + 2 = 5.
    const forms = [
      { padding: [1, 0, 0, 2].map((value) => scalar(value)), size: [5, 4], padLeft: 1, padTop: 0 },
      { padding: [list(2, 7, 5, 2), scalar(2)], size: [7, 5], padLeft: 0, padTop: 0 },
      { padding: [list(2, 6, 5, 2), scalar(1)], size: [6, 5], padLeft: 0, padTop: 0 },
      { padding: [list(2, 5, 4, 2), scalar(1)], size: [5, 4], padLeft: 0, padTop: 1 },
    ] as const
    for (const { padding, size, padLeft, padTop } of forms) {
      const windows = { padLeft, padTop, strideWidth: 3, strideHeight: 2, size }
      const expected = moves.transposedConvolution(x.array, filter.array, bias.array, windows, 0)
      const inputs = [filter.value, bias.value, ...padding, ...steps]
      await expectRun('TRANSPOSE_CONV_2D', [x.value, ...inputs, scalar(0, 'BOOL')], type, expected)
      if (padding.length === 2) continue
      const first = transposed(type, x, [0, 3, 1, 2])
      await expectRun('TRANSPOSE_CONV_2D', [first, ...inputs, scalar(1, 'BOOL')], type, moves.toNchw(expected))
    }
  })
})

/** Returns the value of a tensor with its axes in another order. */
function transposed(type: OperandType, { value }: ReturnType<typeof sample>, order: number[]): Value {
  const raw = reference.transpose({ shape: value.dimensions, values: value.raw as number[] }, order)
  return { ...value, type, dimensions: raw.shape, raw: raw.values }
}

describe.each(FLOATS)('%s', (type) => {
  test.each([
    ['ABS', Math.abs],
    ['NEG', (x: number) => -x],
    ['EXP', Math.exp],
    ['SQRT', (x: number) => Math.sqrt(x)],
    ['RSQRT', (x: number) => 1 / Math.sqrt(x)],
  ] as const)('%s', async (name, operate) => {
    const x = inputOf(type, [4, 50])
    const raw = name.endsWith('SQRT') ? (x.value.raw as number[]).map((v) => Math.abs(v) + 0.125) : x.value.raw
    const exact =
      name.endsWith('SQRT') && type === 'TENSOR_FLOAT16' ? (raw as number[]).map(roundHalf) : (raw as number[])
    const values = exact.map((v) => (type === 'TENSOR_FLOAT32' ? Math.fround(v) : v))
    await expectRun(name, [{ ...x.value, raw: values }], type, reference.unary({ shape: [4, 50], values }, operate))
  })

  test('REDUCE_SUM and REDUCE_PROD', async () => {
    const x = inputOf(type, [3, 4, 2])
    for (const [name, combine] of [
      ['REDUCE_SUM', (values: readonly number[]) => values.reduce((sum, v) => sum + v, 0)],
      ['REDUCE_PROD', (values: readonly number[]) => values.reduce((product, v) => product * v, 1)],
    ] as const) {
      const expected = moves.reduce(x.array, [1], false, combine)
      await expectRun(name, [x.value, list(1), scalar(0, 'BOOL')], type, expected)
    }
  })
})

const roundHalf = (value: number): number => Math.round(value * 256) / 256

describe.each(MOVABLE)('moving %s', (type) => {
  test('SLICE, TILE, SQUEEZE and EXPAND_DIMS', async () => {
    const x = inputOf(type, [3, 4, 5])
    const part = moves.slice(x.array, [1, 0, 2], [2, 4, 3])
    await expectRun('SLICE', [x.value, list(1, 0, 2), list(2, 4, -1)], type, part)
    await expectRun('TILE', [x.value, list(2, 1, 3)], type, moves.tile(x.array, [2, 1, 3]))
    const flat = inputOf(type, [1, 3, 1, 2])
    const { values } = flat.array
    await expectRun('SQUEEZE', [flat.value], type, { shape: [3, 2], values })
    await expectRun('SQUEEZE', [flat.value, list(-2)], type, { shape: [1, 3, 2], values })
    await expectRun('EXPAND_DIMS', [flat.value, scalar(-1)], type, { shape: [1, 3, 1, 2, 1], values })
  })

  test('comparisons and SELECT', async () => {
    const operations = {
      EQUAL: (a: number, b: number) => a === b,
      NOT_EQUAL: (a: number, b: number) => a !== b,
      GREATER: (a: number, b: number) => a > b,
      GREATER_EQUAL: (a: number, b: number) => a >= b,
      LESS: (a: number, b: number) => a < b,
      LESS_EQUAL: (a: number, b: number) => a <= b,
    }
    const [a, b] = [inputOf(type, [3, 4]), inputOf(type, [4])]
    ;(b.value.raw as number[])[1] = (a.value.raw as number[])[1]!
    ;(b.array.values as number[])[1] = a.array.values[1]!
    for (const [name, operate] of Object.entries(operations)) {
      const expected = reference.binary(a.array, b.array, (x, y) => Number(operate(x, y)), 0)
      await expectRun(name, [a.value, b.value], 'TENSOR_BOOL8', expected)
    }
    const [condition, other] = [bools([3, 4]), inputOf(type, [3, 4])]
    const values = condition.array.values.map((is, i) => (is !== 0 ? a : other).array.values[i]!)
    await expectRun('SELECT', [condition.value, a.value, other.value], type, { shape: [3, 4], values })
  })

  test('SPLIT and TOPK_V2 write several outputs', async () => {
    const x = inputOf(type, [2, 6])
    const parts = await runMany('SPLIT', [x.value, scalar(-1), scalar(3)], Array(3).fill(like(type, [2, 2])))
    parts.forEach((part, i) => expectClose(part, moves.slice(x.array, [0, 2 * i], [2, 2]), 1e-6))
    for (const k of [1, 4, 6]) {
      const outputs = [like(type, [2, k]), { type: 'TENSOR_INT32', dimensions: [2, k] } as const]
      const [values, indices] = await runMany('TOPK_V2', [x.value, scalar(k)], outputs)
      const expected = moves.topK(x.array, k)
      expectClose(values!, expected.values, 1e-6)
      expectClose(indices!, expected.indices, 0)
    }
  })
})

/** Runs an operation with several outputs. */
async function runMany(
  operation: string,
  inputs: readonly (Value & { isInput?: boolean })[],
  outputs: readonly Operand[],
): Promise<{ dimensions: readonly number[]; values: number[] }[]> {
  const driver = localDriver()
  using model = buildModel((g) => {
    const handles = inputs.map(({ type, dimensions, raw, isInput, ...quantization }) =>
      isInput === false ? g.constant(type, dimensions, raw, quantization) : g.input(type, dimensions, quantization),
    )
    for (const handle of g.operationOf(operation, handles, outputs)) g.output(handle)
  })
  using prepared = await driver.prepare(model)
  using pool = createPool(8192)
  const bytes = encodeValue(inputs[0]!.type, inputs[0]!.raw)
  pool.write(0, bytes)
  const sizeOf = ({ type, dimensions }: Operand): number =>
    encodeValue(type, dimensions.slice(0, 1)).length * reference.count(dimensions)
  prepared.run({
    inputs: [pool.slice(0, bytes.length)],
    outputs: outputs.map((output, i) => pool.slice(1024 * (i + 1), sizeOf(output))),
  })
  const results = outputs.map(({ type, dimensions, scale, zeroPoint = 0 }, i) => {
    const values = [...typed(type, pool.read(1024 * (i + 1), sizeOf({ type, dimensions })))]
    return { dimensions, values: scale === undefined ? values : values.map((v) => scale * (v - zeroPoint)) }
  })
  await driver.closeAsync()
  return results
}

test('logical operations and reductions of booleans', async () => {
  const [a, b] = [bools([3, 4]), bools([4])]
  const logical = { LOGICAL_AND: (x: number, y: number) => x && y, LOGICAL_OR: (x: number, y: number) => x || y }
  for (const [name, operate] of Object.entries(logical))
    await expectRun(name, [a.value, b.value], 'TENSOR_BOOL8', reference.binary(a.array, b.array, operate, 0))
  await expectRun(
    'LOGICAL_NOT',
    [a.value],
    'TENSOR_BOOL8',
    reference.unary(a.array, (x) => 1 - x),
  )
  for (const axis of [0, 1]) {
    const all = moves.reduce(a.array, [axis], false, (values) => Math.min(...values))
    await expectRun('REDUCE_ALL', [a.value, list(axis), scalar(0, 'BOOL')], 'TENSOR_BOOL8', all)
    const any = moves.reduce(a.array, [axis], true, (values) => Math.max(...values))
    await expectRun('REDUCE_ANY', [a.value, list(axis), scalar(1, 'BOOL')], 'TENSOR_BOOL8', any)
  }
})

test('ABS and NEG of whole numbers wrap around', async () => {
  const x: Value = { type: 'TENSOR_INT32', dimensions: [4], raw: [-(2 ** 31), -7, 0, 2 ** 31 - 1] }
  expect((await run('ABS', [x], like('TENSOR_INT32', [4]))).values).toEqual([-(2 ** 31), 7, 0, 2 ** 31 - 1])
  expect((await run('NEG', [x], like('TENSOR_INT32', [4]))).values).toEqual([-(2 ** 31), 7, 0, -(2 ** 31) + 1])
})

test('NaN wins in MAXIMUM, MINIMUM and REDUCE_MAX, comes last in TOPK_V2, and is not equal to itself', async () => {
  const float = (...raw: number[]): Value => ({ type: 'TENSOR_FLOAT32', dimensions: [raw.length], raw })
  const [a, b] = [float(NaN, 1, NaN), float(1, NaN, NaN)]
  for (const name of ['MAXIMUM', 'MINIMUM'])
    expect((await run(name, [a, b], like('TENSOR_FLOAT32', [3]))).values).toEqual([NaN, NaN, NaN])
  expect((await run('REDUCE_MAX', [a, list(0), scalar(0, 'BOOL')], like('TENSOR_FLOAT32', [1]))).values).toEqual([NaN])
  expect((await run('EQUAL', [a, a], like('TENSOR_BOOL8', [3]))).values).toEqual([0, 1, 0])
  const outputs = [like('TENSOR_FLOAT32', [3]), like('TENSOR_INT32', [3])]
  const [values, indices] = await runMany('TOPK_V2', [a, scalar(3)], outputs)
  expect([values!.values, indices!.values]).toEqual([
    [1, NaN, NaN],
    [1, 0, 2],
  ])
})

test('CAST truncates and saturates, without scales', async () => {
  const raw = [1.9, -1.9, 300, -5, NaN, Infinity]
  const x: Value = { type: 'TENSOR_FLOAT32', dimensions: [6], raw }
  const cast = async (type: OperandType): Promise<number[]> =>
    (await run('CAST', [x], { type, dimensions: [6], ...(type === 'TENSOR_INT32' ? {} : { scale: 1 }) })).values
  expect(await cast('TENSOR_INT32')).toEqual([1, -1, 300, -5, 0, 2 ** 31 - 1])
  expect(await cast('TENSOR_QUANT8_ASYMM')).toEqual([1, 0, 255, 0, 0, 255])
})

test('reductions, slices and paddings of every shape', { timeout: 120_000 }, async () => {
  const shape = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...REALS),
      shape,
      fc.infiniteStream(fc.nat(7)),
      async (type, dimensions, stream) => {
        const next = (): number => stream.next().value as number
        const x = inputOf(type, dimensions)
        const axes = dimensions.flatMap((_, axis) =>
          next() % 2 === 0 ? [axis - (next() % 2) * dimensions.length] : [],
        )
        const most = moves.reduce(x.array, axes.length === 0 ? [0] : axes, false, (values) => Math.max(...values))
        await expectRun(
          'REDUCE_MAX',
          [x.value, list(...(axes.length === 0 ? [0] : axes)), scalar(0, 'BOOL')],
          type,
          most,
        )
        const starts = dimensions.map((size) => next() % size)
        const sizes = dimensions.map((size, axis) => 1 + (next() % (size - starts[axis]!)))
        await expectRun('SLICE', [x.value, list(...starts), list(...sizes)], type, moves.slice(x.array, starts, sizes))
        const pairs = dimensions.map(() => [next() % 3, next() % 3] as const)
        const paddings = { ...list(...pairs.flat()), dimensions: [dimensions.length, 2] }
        await expectRun('PAD', [x.value, paddings], type, moves.pad(x.array, pairs))
      },
    ),
  )
})
