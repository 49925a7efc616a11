import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PoolsError } from '@tenon/pools'
import * as reference from './reference.ts'
import { clamp, expectClose, run, sample, scalar, type Operand, type Value } from './run-operation.ts'

const seconds = Number(process.env['TENON_FUZZ_SECONDS'] ?? 0)
const settings = seconds > 0 ? { interruptAfterTimeLimit: seconds * 300, numRuns: 1e9 } : { numRuns: 150 }

const kinds = ['TENSOR_FLOAT32', 'TENSOR_FLOAT16', 'TENSOR_QUANT8_ASYMM', 'TENSOR_QUANT8_ASYMM_SIGNED'] as const
type Kind = (typeof kinds)[number]
const isFloat = (kind: Kind): boolean => kind === 'TENSOR_FLOAT32' || kind === 'TENSOR_FLOAT16'
const inputOf = (kind: Kind, shape: readonly number[], scale = 0.05) =>
  sample(kind, shape, { scale, zeroPoint: kind === 'TENSOR_QUANT8_ASYMM' ? 120 : -3 })

/** Runs an operation that is valid, and compares; or one that is not, and expects that it is refused. */
async function check(
  kind: Kind,
  operation: string,
  inputs: readonly Value[],
  expected: reference.Array4 | undefined,
  scale = 0.5,
): Promise<void> {
  const zeroPoint = kind === 'TENSOR_QUANT8_ASYMM' ? 100 : 4
  const quantization = isFloat(kind) ? {} : { scale, zeroPoint }
  const output: Operand = { type: kind, dimensions: expected?.shape ?? [], ...quantization }
  if (expected === undefined) {
    const error = await run(operation, inputs, output).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(PoolsError)
    expect((error as PoolsError).status).toBe('INVALID_ARGUMENT')
    return
  }
  const reachable = isFloat(kind) ? expected : clamp(expected, kind, scale, zeroPoint)
  const largest = Math.max(1, ...expected.values.map(Math.abs))
  // Float32 sums of at most some hundred products; half a unit in the last place of float16; half a step of a scale.
  const tolerance = { TENSOR_FLOAT32: 1e-5, TENSOR_FLOAT16: 2 ** -11 + 1e-5 }[kind as 'TENSOR_FLOAT32']
  expectClose(
    await run(operation, inputs, output),
    reachable,
    tolerance === undefined ? 0.501 * scale : tolerance * largest,
  )
}

const size = fc.integer({ min: 1, max: 5 })
const windowing = fc.record({
  kind: fc.constantFrom(...kinds),
  image: fc.tuple(fc.integer({ min: 1, max: 2 }), size, size, fc.integer({ min: 1, max: 3 })),
  window: fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 })),
  strides: fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 1, max: 2 ** 31 - 1 })),
  isHuge: fc.boolean(),
  dilations: fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 1, max: 3 })),
  padding: fc.oneof(
    fc.integer({ min: 0, max: 3 }),
    fc.tuple(...Array.from({ length: 4 }, () => fc.integer({ min: -1, max: 3 }))),
  ),
  activation: fc.oneof(
    { weight: 9, arbitrary: fc.integer({ min: 0, max: 3 }) },
    { weight: 1, arbitrary: fc.integer() },
  ),
  channels: fc.integer({ min: 1, max: 3 }),
})

interface Drawn {
  readonly image: readonly [number, number, number, number]
  readonly window: readonly [number, number]
  readonly strides: readonly [number, number]
  readonly dilations: readonly [number, number]
  readonly padding: number | readonly number[]
  readonly activation: number
}

/** Where windows go; undefined if the operation must refuse. */
function windowsOf({ image, window, strides, dilations, padding, activation }: Drawn): reference.Windows | undefined {
  const [strideWidth, strideHeight] = strides
  const [dilationWidth, dilationHeight] = dilations
  const isPadded = typeof padding !== 'number'
  if (Math.min(...strides, ...dilations) < 1 || activation < 0 || activation > 3) return undefined
  if (isPadded ? padding.some((value) => value < 0) : padding !== 1 && padding !== 2) return undefined
  const extents = [(window[0] - 1) * dilationWidth + 1, (window[1] - 1) * dilationHeight + 1] as const
  const [places, padLeft, padTop] = reference.place(padding, strides, extents, image[2], image[1])
  if (Math.min(...places) < 1) return undefined
  return { padLeft, padTop, strideWidth, strideHeight, dilationWidth, dilationHeight, size: places }
}

test('convolutions of every shape', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(windowing, async (drawn) => {
      const strides = [drawn.strides[0], drawn.isHuge ? drawn.strides[1] : 1 + (drawn.strides[1] % 3)] as const
      const { kind, image, window, padding, activation, channels, dilations } = drawn
      const windows = windowsOf({ ...drawn, strides })
      const x = inputOf(kind, image)
      const pads = (typeof padding === 'number' ? [padding] : padding).map((value) => scalar(value))
      const [width, height] = window
      const tail = [scalar(activation), scalar(0, 'BOOL'), ...dilations.map((value) => scalar(value))]
      const bias = (count: number) =>
        isFloat(kind) ? sample(kind, [count]) : sample('TENSOR_INT32', [count], { scale: 0.05 * 0.05 })
      const steps = strides.map((value) => scalar(value))

      const [filter, first] = [inputOf(kind, [channels, height, width, image[3]]), bias(channels)]
      const convolved = windows && reference.convolution(x.array, filter.array, first.array, windows, activation)
      await check(kind, 'CONV_2D', [x.value, filter.value, first.value, ...pads, ...steps, ...tail], convolved)

      const depth = image[3] * channels
      const [single, second] = [inputOf(kind, [1, height, width, depth]), bias(depth)]
      const inputs = [x.value, single.value, second.value, ...pads, ...steps, scalar(channels), ...tail]
      const separate = windows && reference.depthwise(x.array, single.array, second.array, windows, activation)
      await check(kind, 'DEPTHWISE_CONV_2D', inputs, separate)
    }),
    settings,
  )
})

test('pooling of every shape', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(windowing, fc.boolean(), async (drawn, isAverage) => {
      const { kind, image, window, padding, activation } = drawn
      const strides = [drawn.strides[0], drawn.isHuge ? drawn.strides[1] : 1 + (drawn.strides[1] % 3)] as const
      const isCovered =
        typeof padding !== 'number' &&
        (Math.max(padding[0]!, padding[1]!) >= window[0] || Math.max(padding[2]!, padding[3]!) >= window[1])
      const windows = isCovered ? undefined : windowsOf({ ...drawn, strides, dilations: [1, 1] })
      const [scale, zeroPoint] = [0.5, kind === 'TENSOR_QUANT8_ASYMM' ? 100 : 4]
      const x = sample(kind, image, { scale, zeroPoint })
      const pads = (typeof padding === 'number' ? [padding] : padding).map((value) => scalar(value))
      const inputs = [x.value, ...pads, ...[...strides, ...window, activation].map((value) => scalar(value))]
      const expected = windows && reference.pool(x.array, window[1], window[0], windows, isAverage, activation)
      await check(kind, isAverage ? 'AVERAGE_POOL_2D' : 'MAX_POOL_2D', inputs, expected, scale)
    }),
    settings,
  )
})

const shape = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 })

test('arithmetic on shapes that broadcast or don’t', { timeout: 120_000 }, async () => {
  const operations = {
    ADD: (a: number, b: number) => a + b,
    SUB: (a: number, b: number) => a - b,
    MUL: (a: number, b: number) => a * b,
  }
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...kinds),
      fc.constantFrom(...(Object.keys(operations) as (keyof typeof operations)[])),
      shape,
      shape,
      fc.integer({ min: -1, max: 4 }),
      async (kind, name, first, second, activation) => {
        const [a, b] = [inputOf(kind, first), inputOf(kind, second)]
        const rank = Math.max(first.length, second.length)
        const fits = Array.from({ length: rank }, (_, i) => [first.at(-1 - i) ?? 1, second.at(-1 - i) ?? 1]).every(
          ([m, n]) => m === n || m === 1 || n === 1,
        )
        const isValid = fits && activation >= 0 && activation <= 3
        const expected = isValid ? reference.binary(a.array, b.array, operations[name], activation) : undefined
        await check(kind, name, [a.value, b.value, scalar(activation)], expected)
      },
    ),
    settings,
  )
})

test('axes, orders and indices of every number', { timeout: 120_000 }, async () => {
  const number = fc.oneof(fc.integer({ min: -5, max: 5 }), fc.constantFrom(2 ** 31 - 1, -(2 ** 31)))
  await fc.assert(
    fc.asyncProperty(
      shape,
      number,
      fc.array(number, { minLength: 1, maxLength: 4 }),
      async (dimensions, axis, list) => {
        const x = sample('TENSOR_FLOAT32', dimensions)
        const rank = dimensions.length
        const at = axis < 0 ? axis + rank : axis
        const isAxis = at >= 0 && at < rank
        const vector: Value = { type: 'TENSOR_INT32', dimensions: [list.length], raw: list }

        const softmax = isAxis ? reference.softmax(x.array, 1, at) : undefined
        await check('TENSOR_FLOAT32', 'SOFTMAX', [x.value, scalar(1, 'FLOAT32'), scalar(axis)], softmax)

        const isOrder = list.toSorted((a, b) => a - b).join() === dimensions.map((_, i) => i).join()
        const transposed = isOrder ? reference.transpose(x.array, list) : undefined
        await check('TENSOR_FLOAT32', 'TRANSPOSE', [x.value, vector], transposed)

        const joined = isAxis ? reference.concatenation([x.array, x.array], at) : undefined
        await check('TENSOR_FLOAT32', 'CONCATENATION', [x.value, x.value, scalar(axis)], joined)

        const isInside = isAxis && list.every((index) => index >= 0 && index < dimensions[at]!)
        if (!isAxis) return check('TENSOR_FLOAT32', 'GATHER', [x.value, scalar(axis), vector], undefined)
        if (isInside) {
          const gathered = reference.gather(x.array, { shape: vector.dimensions, values: list }, at)
          return check('TENSOR_FLOAT32', 'GATHER', [x.value, scalar(axis), vector], gathered)
        }
        const output: Operand = { type: 'TENSOR_FLOAT32', dimensions: [] }
        const error = await run('GATHER', [x.value, scalar(axis), vector], output).catch((thrown: unknown) => thrown)
        expect((error as PoolsError).status).toBe('GENERAL_FAILURE')
      },
    ),
    settings,
  )
})
