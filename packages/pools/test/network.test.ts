import { describe, expect, test } from 'vitest'
import { buildModel, createPool, type BuiltModel, type OperandHandle } from '../src/index.ts'
import * as reference from './reference.ts'
import { expectNoLeaks, floats, homes } from './support.ts'

/** Numbers from -1 to 1, the same in each run. */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return state / 0x4000_0000 - 1
  }
}

interface Network {
  readonly model: BuiltModel
  readonly input: reference.Array4
  /** What the model must come to, in double precision. */
  readonly output: reference.Array4
}

/** Builds a model and computes what it must come to, side by side. */
class NetworkBuilder {
  readonly #random = randomNumbers(7)

  tensor(shape: readonly number[], scale: number): reference.Array4 {
    return { shape, values: Array.from({ length: reference.count(shape) }, () => Math.fround(this.#random() * scale)) }
  }

  /** Blocks of a depthwise and a pointwise convolution, then pooling, a layer, and softmax. */
  mobileNet(): Network {
    const input = this.tensor([1, 24, 24, 3], 1)
    let value = input
    const model = buildModel((g) => {
      const int = (number: number): OperandHandle => g.scalar('INT32', number)
      const constant = ({ shape, values }: reference.Array4): OperandHandle =>
        g.constant('TENSOR_FLOAT32', shape, new Float32Array(values))
      const type = (): { type: 'TENSOR_FLOAT32'; dimensions: readonly number[] } => ({
        type: 'TENSOR_FLOAT32',
        dimensions: value.shape,
      })
      let x = g.input('TENSOR_FLOAT32', input.shape)
      const convolve = (channels: number, size: number, stride: number): void => {
        const depth = value.shape[3]!
        const [filter, bias] = [
          this.tensor([channels, size, size, depth], 1 / Math.sqrt(size * size * depth)),
          this.tensor([channels], 0.1),
        ]
        value = reference.convolution(value, filter, bias, samePadding(value, size, stride), 3)
        x = g.operation(
          'CONV_2D',
          [x, constant(filter), constant(bias), int(1), int(stride), int(stride), int(3)],
          type(),
        )
      }
      const separate = (stride: number): void => {
        const depth = value.shape[3]!
        const [filter, bias] = [this.tensor([1, 3, 3, depth], 0.5), this.tensor([depth], 0.1)]
        value = reference.depthwise(value, filter, bias, samePadding(value, 3, stride), 3)
        x = g.operation(
          'DEPTHWISE_CONV_2D',
          [x, constant(filter), constant(bias), int(1), int(stride), int(stride), int(1), int(3)],
          type(),
        )
      }
      convolve(8, 3, 2)
      for (const [channels, stride] of [
        [16, 1],
        [32, 2],
        [32, 1],
      ] as const) {
        separate(stride)
        convolve(channels, 1, 1)
      }
      const [height, width] = [value.shape[1]!, value.shape[2]!]
      value = reference.pool(
        value,
        height,
        width,
        { padLeft: 0, padTop: 0, strideWidth: 1, strideHeight: 1, size: [1, 1] },
        true,
        0,
      )
      x = g.operation('AVERAGE_POOL_2D', [x, int(2), int(1), int(1), int(width), int(height), int(0)], type())
      const [weights, bias] = [this.tensor([10, 32], 1), this.tensor([10], 0.1)]
      value = reference.fullyConnected(value, weights, bias, 0)
      x = g.operation('FULLY_CONNECTED', [x, constant(weights), constant(bias), int(0)], type())
      value = reference.softmax(value, 1, 1)
      g.output(g.operation('SOFTMAX', [x, g.scalar('FLOAT32', 1)], type()))
    })
    return { model, input, output: value }
  }

  /** Three layers for batches of any size. */
  layers(): Network {
    const input = this.tensor([5, 64], 1)
    let value = input
    const model = buildModel((g) => {
      let x = g.input('TENSOR_FLOAT32', [0, 64])
      for (const [units, activation] of [
        [128, 1],
        [32, 3],
        [4, 0],
      ] as const) {
        const size = value.shape[1]!
        const [weights, bias] = [this.tensor([units, size], 1 / Math.sqrt(size)), this.tensor([units], 0.1)]
        value = reference.fullyConnected(value, weights, bias, activation)
        const constants = [weights, bias].map((one) =>
          g.constant('TENSOR_FLOAT32', one.shape, new Float32Array(one.values)),
        )
        x = g.operation('FULLY_CONNECTED', [x, ...constants, g.scalar('INT32', activation)], {
          type: 'TENSOR_FLOAT32',
          dimensions: [0, units],
        })
      }
      g.output(g.operation('TANH', [x], { type: 'TENSOR_FLOAT32', dimensions: [0, 4] }))
      value = reference.unary(value, Math.tanh)
    })
    return { model, input, output: value }
  }
}

function samePadding({ shape }: reference.Array4, window: number, stride: number): reference.Windows {
  const along = (size: number): [places: number, before: number] => {
    const places = Math.ceil(size / stride)
    return [places, Math.floor(Math.max((places - 1) * stride + window - size, 0) / 2)]
  }
  const [[rows, padTop], [columns, padLeft]] = [along(shape[1]!), along(shape[2]!)]
  return { padLeft, padTop, strideWidth: stride, strideHeight: stride, size: [rows, columns] }
}

const networks = { mobileNet: new NetworkBuilder().mobileNet(), layers: new NetworkBuilder().layers() }

describe.each(Object.entries(networks))('%s', (_, { model, input, output }) => {
  const results: number[][] = []

  test.each(homes)('%s, close to double precision', async (__, start) => {
    await expectNoLeaks(async () => {
      await using driver = await start()
      using prepared = await driver.prepare(model)
      using pool = createPool(1 << 16)
      const bytes = new Float32Array(input.values)
      pool.write(0, bytes)
      const args = {
        inputs: [pool.tensor(0, 'TENSOR_FLOAT32', input.shape)],
        outputs: [pool.slice(1 << 15, 4 * output.values.length)],
      }
      expect(prepared.executeSync(args).outputs[0]!.dimensions).toEqual(output.shape)
      const found = floats(pool.read(1 << 15, 4 * output.values.length))
      // Float32 sums of some hundred products, through a dozen layers.
      found.forEach((value, i) => expect(Math.abs(value - output.values[i]!)).toBeLessThan(2e-5))
      results.push(found)
    })
  })

  test('the same bits in every home', () => {
    expect(results.length).toBe(homes.length)
    for (const found of results) expect(found).toEqual(results[0])
  })
})
