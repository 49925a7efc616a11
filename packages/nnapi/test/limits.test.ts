import { expect, test } from 'vitest'
import { ArgumentError, ArgumentRangeError } from '@tenon/core'
import {
  buildModel,
  type DeviceBuffer,
  localDriver,
  type ModelBuilder,
  type OperandType,
  type PreparedModel,
  spawnDriver,
} from '../src/index.ts'
import { createPool } from '@tenon/pools'
import { addModel, expectFailure, hasFiles } from './support.ts'

test('a pool of 4 GiB or more is refused with the largest size', () => {
  for (const byteSize of [2 ** 32, 5 * 2 ** 30]) expect(() => createPool(byteSize)).toThrow(ArgumentRangeError)
  expect(() => createPool(5 * 2 ** 30)).toThrow('byteSize must be from 1 to 4294967295 bytes, got 5368709120')
})

test.each(['FLOAT64', 'INT64', 'BFLOAT16', 'UINT8'])('NNAPI has no tensors of %s', (type) => {
  const name = `TENSOR_${type}` as OperandType
  const refuse = (build: (g: ModelBuilder) => void): void => {
    expect(() => buildModel(build)).toThrow(ArgumentError)
    expect(() => buildModel(build)).toThrow(`type must be the name of an operand type, got "${name}"`)
  }
  refuse((g) => g.input(name, [2]))
  refuse((g) => g.operation('OWN', [g.input('TENSOR_FLOAT32', [2])], { type: name, dimensions: [2] }))
})

test('a tensor of 4 GiB is refused by the builder', async () => {
  const type = { type: 'TENSOR_QUANT8_ASYMM', dimensions: [65536, 65536], scale: 1 } as const
  const build = () =>
    buildModel((g) => g.output(g.operation('RELU', [g.input(type.type, type.dimensions, { scale: 1 })], type)))
  await expectFailure(build, 'INVALID_ARGUMENT', 'M9')
})

test.runIf(hasFiles)('an input without elements is refused before it is sent', async () => {
  const type = { type: 'TENSOR_FLOAT32', dimensions: [0, 3] } as const
  await using driver = await spawnDriver()
  using model = buildModel((g) => g.output(g.operation('RELU', [g.input(type.type, type.dimensions)], type)))
  using prepared = await driver.prepare(model)
  using pool = createPool(64)
  const args = { inputs: [pool.slice(0, 0, { dimensions: [0, 3] })], outputs: [pool.slice(16, 0)] }
  await expectFailure(() => prepared.run(args), 'INVALID_ARGUMENT', 'Q6')
})

test.each([1, 3])(
  'a driver with limits of %d has as many models, device buffers and their bytes, and no more',
  async (limit) => {
    using model = addModel([1, 2])
    for (const limits of [
      { models: limit, buffers: limit },
      { models: limit, bufferBytes: limit * 8 },
    ]) {
      await using driver = localDriver({ limits })
      const prepared: PreparedModel[] = []
      const buffers: DeviceBuffer[] = []
      const prepare = async (): Promise<unknown> => prepared.push(await driver.prepare(model))
      const allocate = async (): Promise<unknown> =>
        buffers.push(await driver.allocate({ roles: [prepared[0]!.input(0)] }))
      for (const add of [prepare, allocate]) {
        for (let i = 0; i < limit; i++) await add()
        for (let i = 0; i < 2; i++) await expectFailure(add, 'RESOURCE_EXHAUSTED_TRANSIENT')
      }
      buffers.pop()!.close()
      await allocate()
      await expectFailure(allocate, 'RESOURCE_EXHAUSTED_TRANSIENT')
      for (const buffer of buffers) buffer.close()
      prepared.pop()!.close()
      await prepare()
      await expectFailure(prepare, 'RESOURCE_EXHAUSTED_TRANSIENT')
    }
  },
)
