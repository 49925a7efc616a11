import { buildModel, type BuiltModel, type ModelBuilder, type OperandHandle, type OutputType } from '../src/index.ts'
import * as reference from './reference.ts'

/** Numbers from -1 to 1, the same in each run. */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return state / 0x4000_0000 - 1
  }
}

/** What networks compute with. */
export type Arithmetic = 'float32' | 'quant8'

/** A model and what it must come to. */
export interface Network {
  readonly model: BuiltModel
  readonly arithmetic: Arithmetic
  /** As the driver gets it. */
  readonly input: Float32Array | Uint8Array
  readonly inputShape: readonly number[]
  /** In double precision; a quantized network's values are rounded to their scales after each operation there, too. */
  readonly output: reference.Array4
}

/** Where the values of a quantized tensor lie. */
interface Grid {
  readonly scale: number
  readonly zeroPoint: number
}

const RELU6: Grid = { scale: Math.fround(6 / 255), zeroPoint: 0 }
const PROBABILITIES: Grid = { scale: 1 / 256, zeroPoint: 0 }
const TANH: Grid = { scale: 1 / 128, zeroPoint: 128 }

/** Values from -`most` to `most`. */
const around = (most: number): Grid => ({ scale: Math.fround((2 * most) / 254), zeroPoint: 128 })
const largest = (values: readonly number[]): number => Math.max(...values.map(Math.abs))
const roundAway = (value: number): number => Math.sign(value) * Math.round(Math.abs(value))
const toGrid = (value: number, { scale, zeroPoint }: Grid): number =>
  Math.min(Math.max(roundAway(value / scale) + zeroPoint, 0), 255)
const fromGrid = (code: number, { scale, zeroPoint }: Grid): number => scale * (code - zeroPoint)

/** Builds a model and computes what it must come to, side by side. */
class NetworkBuilder {
  readonly #g: ModelBuilder
  readonly #arithmetic: Arithmetic
  readonly #random = randomNumbers(7)
  #x: OperandHandle
  #value: reference.Array4
  #grid: Grid
  readonly input: Float32Array | Uint8Array

  constructor(g: ModelBuilder, arithmetic: Arithmetic, shape: readonly number[], declared: readonly number[]) {
    this.#g = g
    this.#arithmetic = arithmetic
    this.#grid = around(1)
    const { values } = this.#tensor(shape, 1)
    this.input = this.#isFloat ? new Float32Array(values) : Uint8Array.from(values, (one) => toGrid(one, this.#grid))
    this.#value = { shape, values: this.#isFloat ? values : [...this.input].map((code) => fromGrid(code, this.#grid)) }
    this.#x = g.input(this.#typeOf(this.#grid).type, declared, this.#typeOf(this.#grid))
  }

  get value(): reference.Array4 {
    return this.#value
  }

  get #isFloat(): boolean {
    return this.#arithmetic === 'float32'
  }

  convolve(channels: number, size: number, stride: number): void {
    const depth = this.#value.shape[3]!
    const shape = [channels, size, size, depth]
    const [filter, bias] = this.#weights(shape, 0, 1 / Math.sqrt(size * size * depth))
    const expected = reference.convolution(this.#value, filter.array, bias.array, this.#samePadding(size, stride), 3)
    this.#add('CONV_2D', [filter.handle, bias.handle, ...this.#whole(1, stride, stride, 3)], expected, RELU6)
  }

  separate(stride: number): void {
    const depth = this.#value.shape[3]!
    const [filter, bias] = this.#weights([1, 3, 3, depth], 3, 0.5)
    const expected = reference.depthwise(this.#value, filter.array, bias.array, this.#samePadding(3, stride), 3)
    const numbers = this.#whole(1, stride, stride, 1, 3)
    this.#add('DEPTHWISE_CONV_2D', [filter.handle, bias.handle, ...numbers], expected, RELU6)
  }

  /** The average over the whole image. */
  average(): void {
    const [, height, width] = this.#value.shape as [number, number, number]
    const windows = { padLeft: 0, padTop: 0, strideWidth: 1, strideHeight: 1, size: [1, 1] } as const
    const expected = reference.pool(this.#value, height, width, windows, true, 0)
    this.#add('AVERAGE_POOL_2D', this.#whole(2, 1, 1, width, height, 0), expected, this.#grid)
  }

  dense(units: number, activation: number, declared?: readonly number[]): void {
    const size = this.#value.shape.at(-1)!
    const [weights, bias] = this.#weights([units, size], undefined, 3 / Math.sqrt(size))
    const expected = reference.fullyConnected(this.#value, weights.array, bias.array, activation)
    const inputs = [weights.handle, bias.handle, ...this.#whole(activation)]
    this.#add('FULLY_CONNECTED', inputs, expected, around(largest(expected.values)), declared)
  }

  softmax(): void {
    this.#add('SOFTMAX', [this.#g.scalar('FLOAT32', 1)], reference.softmax(this.#value, 1, 1), PROBABILITIES)
  }

  tanh(declared: readonly number[]): void {
    this.#add('TANH', [], reference.unary(this.#value, Math.tanh), TANH, declared)
  }

  finish(): void {
    this.#g.output(this.#x)
  }

  #add(
    name: string,
    inputs: readonly OperandHandle[],
    expected: reference.Array4,
    grid: Grid,
    declared: readonly number[] = expected.shape,
  ): void {
    this.#x = this.#g.operation(name, [this.#x, ...inputs], { ...this.#typeOf(grid), dimensions: declared })
    const values = this.#isFloat ? expected.values : expected.values.map((one) => fromGrid(toGrid(one, grid), grid))
    this.#value = { shape: expected.shape, values }
    this.#grid = grid
  }

  #typeOf(grid: Grid): Omit<OutputType, 'dimensions'> {
    return this.#isFloat ? { type: 'TENSOR_FLOAT32' } : { type: 'TENSOR_QUANT8_ASYMM', ...grid }
  }

  #whole(...values: readonly number[]): OperandHandle[] {
    return values.map((value) => this.#g.scalar('INT32', value))
  }

  #tensor(shape: readonly number[], most: number): reference.Array4 {
    return { shape, values: Array.from({ length: reference.count(shape) }, () => Math.fround(this.#random() * most)) }
  }

  /** Random weights with their bias. Quantized ones have a scale for each index of `channelDim`, if there is one. */
  #weights(
    shape: readonly number[],
    channelDim: number | undefined,
    most: number,
  ): readonly [{ handle: OperandHandle; array: reference.Array4 }, { handle: OperandHandle; array: reference.Array4 }] {
    const weights = this.#tensor(shape, most)
    const bias = this.#tensor([shape[channelDim ?? 0]!], 0.1)
    if (this.#isFloat) {
      const constant = (array: reference.Array4) => ({
        handle: this.#g.constant('TENSOR_FLOAT32', array.shape, new Float32Array(array.values)),
        array,
      })
      return [constant(weights), constant(bias)]
    }
    const inner = channelDim === undefined ? weights.values.length : reference.count(shape.slice(channelDim + 1))
    const channelOf = (i: number): number => (channelDim === undefined ? 0 : Math.floor(i / inner) % shape[channelDim]!)
    const found = Array.from({ length: channelDim === undefined ? 1 : shape[channelDim]! }, () => 0)
    weights.values.forEach((one, i) => (found[channelOf(i)] = Math.max(found[channelOf(i)]!, Math.abs(one))))
    const scales = found.map((one) => Math.fround(one / 127))
    const codes = weights.values.map((one, i) => roundAway(one / scales[channelOf(i)]!))
    const array = { shape, values: codes.map((code, i) => scales[channelOf(i)]! * code) }
    const handle =
      channelDim === undefined
        ? this.#g.constant(
            'TENSOR_QUANT8_ASYMM',
            shape,
            Uint8Array.from(codes, (code) => code + 128),
            {
              scale: scales[0]!,
              zeroPoint: 128,
            },
          )
        : this.#g.constant('TENSOR_QUANT8_SYMM_PER_CHANNEL', shape, Int8Array.from(codes), {
            channelQuant: { scales, channelDim },
          })
    const products = bias.values.map((_, i) => this.#grid.scale * scales[channelDim === undefined ? 0 : i]!)
    const sums = bias.values.map((one, i) => roundAway(one / products[i]!))
    const scale = channelDim === undefined ? products[0]! : 0
    return [
      { handle, array },
      {
        handle: this.#g.constant('TENSOR_INT32', bias.shape, new Int32Array(sums), { scale }),
        array: { shape: bias.shape, values: sums.map((sum, i) => sum * products[i]!) },
      },
    ]
  }

  #samePadding(window: number, stride: number): reference.Windows {
    const [, height, width] = this.#value.shape as [number, number, number]
    const [size, padLeft, padTop] = reference.place(1, [stride, stride], [window, window], width, height)
    return { padLeft, padTop, strideWidth: stride, strideHeight: stride, size }
  }
}

function build(
  arithmetic: Arithmetic,
  inputShape: readonly number[],
  declared: readonly number[],
  describe: (builder: NetworkBuilder) => void,
): Network {
  let builder!: NetworkBuilder
  const model = buildModel((g) => {
    builder = new NetworkBuilder(g, arithmetic, inputShape, declared)
    describe(builder)
    builder.finish()
  })
  return { model, arithmetic, input: builder.input, inputShape, output: builder.value }
}

/** Blocks of a depthwise and a pointwise convolution, then pooling, a layer, and softmax. */
export function mobileNet(arithmetic: Arithmetic): Network {
  return build(arithmetic, [1, 24, 24, 3], [1, 24, 24, 3], (network) => {
    network.convolve(8, 3, 2)
    for (const [channels, stride] of [
      [16, 1],
      [32, 2],
      [32, 1],
    ] as const) {
      network.separate(stride)
      network.convolve(channels, 1, 1)
    }
    network.average()
    network.dense(10, 0)
    network.softmax()
  })
}

/** Three layers for batches of any size. */
export function layers(arithmetic: Arithmetic): Network {
  return build(arithmetic, [5, 64], [0, 64], (network) => {
    network.dense(128, 1, [0, 128])
    network.dense(32, 3, [0, 32])
    network.dense(4, 0, [0, 4])
    network.tanh([0, 4])
  })
}
