import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createPool, type Pool } from '@tenon/pools'
import {
  type BuiltModel,
  buildModel,
  DeviceBuffer,
  type Driver,
  localDriver,
  type PreparedModel,
} from '../src/index.ts'
import type { BackendBuffer } from '../src/driver/driver.ts'
import { addModel, expectFailure, expectNoLeaks, floats, homes, operand, settled } from './support.ts'

/** A cache of rows, and a row that is appended. */
const appendModel = (): BuiltModel =>
  buildModel((g) => {
    const cache = g.input('TENSOR_FLOAT32', [0, 2])
    const row = g.input('TENSOR_FLOAT32', [1, 2])
    const longer = { type: 'TENSOR_FLOAT32', dimensions: [0, 2] } as const
    g.output(g.operation('CONCATENATION', [cache, row, g.scalar('INT32', 0)], longer))
  })

/** Buffers of open size for the cache before and after an execution. */
const allocatePair = async (driver: Driver, prepared: PreparedModel): Promise<[DeviceBuffer, DeviceBuffer]> => {
  const roles = [prepared.input(0), prepared.output(0)]
  return [await driver.allocate({ roles }), await driver.allocate({ roles })]
}

/** The value of a buffer, read with its real dimensions. */
async function valueOf(buffer: DeviceBuffer, pool: Pool<'writable'>): Promise<number[]> {
  const dimensions = (await buffer.shape())!
  const byteSize = dimensions.reduce((size, axis) => size * axis, 4)
  await buffer.copyTo(pool.slice(0, byteSize))
  return floats(pool.read(0, byteSize))
}

describe.each(homes)('buffers of open dimensions of a driver %s', (_, start) => {
  let driver: Driver
  beforeAll(async () => {
    driver = await start()
  })
  afterAll(() => driver.closeAsync())
  beforeEach(() => settled(driver))

  test('grow with the values that executions write, and are read with the real dimensions', async () => {
    await expectNoLeaks(async () => {
      using model = appendModel()
      using prepared = await driver.prepare(model)
      let [now, next] = await allocatePair(driver, prepared)
      using pool = createPool(4096)
      expect([now.dimensions, now.byteSize, String(now)]).toEqual([[0, 2], 0, 'DeviceBuffer [0, 2] (open size)'])
      expect(await now.shape()).toBeUndefined()
      pool.write(0, new Float32Array([0, 0.5]))
      await now.copyFrom(pool.slice(0, 8, { dimensions: [1, 2] }))
      expect(await now.shape()).toEqual([1, 2])
      for (let row = 1; row < 40; row++) {
        pool.write(1024, new Float32Array([row, row + 0.5]))
        const { outputs } = prepared.run({ inputs: [now, pool.slice(1024, 8)], outputs: [next] })
        expect(outputs[0]!.dimensions).toEqual([row + 1, 2])
        ;[now, next] = [next, now]
      }
      expect(await now.shape()).toEqual([40, 2])
      expect(await valueOf(now, pool)).toEqual(Array.from({ length: 80 }, (__, i) => i / 2))
      expect(await next.shape()).toEqual([39, 2])
      now.close()
      next.close()
    })
  })

  test('have any rank, if the model leaves it open', async () => {
    using model = addModel([1, 2], [])
    using prepared = await driver.prepare(model)
    const [first, second] = await allocatePair(driver, prepared)
    using pool = createPool(64)
    for (const dimensions of [[2], [3, 2], [1, 1, 2]]) {
      const byteSize = dimensions.reduce((size, axis) => size * axis, 4)
      await first.copyFrom(pool.slice(32, byteSize, { dimensions }))
      prepared.run({ inputs: [first], outputs: [second] })
      expect(await second.shape()).toEqual(dimensions)
      expect((await valueOf(second, pool)).slice(-2)).toEqual([1, 2])
    }
    first.close()
    second.close()
  })

  test('take copies of complete dimensions alone, and give copies of their exact size', async () => {
    using model = appendModel()
    using prepared = await driver.prepare(model)
    const [first, second] = await allocatePair(driver, prepared)
    using pool = createPool(64)
    await expectFailure(() => first.copyFrom(pool.slice(0, 8)), 'INVALID_ARGUMENT', 'D24')
    await expectFailure(() => first.copyFrom(pool.slice(0, 8, { dimensions: [0, 2] })), 'INVALID_ARGUMENT', 'D24')
    await expectFailure(() => first.copyFrom(pool.slice(0, 8, { dimensions: [2, 1] })), 'INVALID_ARGUMENT', 'D24')
    await expectFailure(() => first.copyFrom(pool.slice(0, 8, { dimensions: [2, 2] })), 'INVALID_ARGUMENT', 'D23')
    await first.copyFrom(pool.slice(0, 16, { dimensions: [2, 2] }))
    await expectFailure(() => first.copyTo(pool.slice(0, 8)), 'INVALID_ARGUMENT', 'D25')
    await second.copyFrom(first)
    expect(await second.shape()).toEqual([2, 2])
    await first.copyFrom(pool.slice(0, 8, { dimensions: [1, 2] }))
    expect([await first.shape(), await second.shape()]).toEqual([
      [1, 2],
      [2, 2],
    ])
    first.close()
    second.close()
  })

  test('cannot be the output of a fenced execution, whose dimensions must be known', async () => {
    using model = appendModel()
    using prepared = await driver.prepare(model)
    const [first, second] = await allocatePair(driver, prepared)
    using pool = createPool(64)
    await first.copyFrom(pool.slice(0, 8, { dimensions: [1, 2] }))
    await expectFailure(
      () => prepared.runFencedAsync({ inputs: [first, pool.slice(0, 8)], outputs: [second] }),
      'INVALID_ARGUMENT',
      'Q16',
    )
    first.close()
    second.close()
  })
})

test('a buffer that grows beyond the limit holds no value, and gives its bytes back', async () => {
  const driver = localDriver({ limits: { bufferBytes: 64 } })
  using model = appendModel()
  using prepared = await driver.prepare(model)
  using pool = createPool(256)
  for (let round = 0; round < 20; round++) {
    const [now, next] = await allocatePair(driver, prepared)
    await now.copyFrom(pool.slice(0, 24, { dimensions: [3, 2] }))
    const args = { inputs: [now, pool.slice(32, 8)], outputs: [next] }
    prepared.run(args)
    await expectFailure(() => next.copyFrom(pool.slice(0, 48, { dimensions: [6, 2] })), 'RESOURCE_EXHAUSTED_TRANSIENT')
    expect([await now.shape(), await next.shape()]).toEqual([[3, 2], undefined])
    prepared.run(args)
    expect(await next.shape()).toEqual([4, 2])
    await now.copyFrom(pool.slice(0, 32, { dimensions: [4, 2] }))
    await expectFailure(() => prepared.run(args), 'RESOURCE_EXHAUSTED_TRANSIENT')
    expect(await next.shape()).toBeUndefined()
    now.close()
    next.close()
  }
  await driver.closeAsync()
})

test('an execution that misses its deadline before it begins leaves the value of its output', async () => {
  const driver = localDriver()
  using model = appendModel()
  using prepared = await driver.prepare(model)
  const [now, next] = await allocatePair(driver, prepared)
  using pool = createPool(256)
  await now.copyFrom(pool.slice(0, 8, { dimensions: [1, 2] }))
  await next.copyFrom(pool.slice(0, 8, { dimensions: [1, 2] }))
  await expectFailure(
    () => prepared.run({ inputs: [now, pool.slice(64, 8)], outputs: [next] }, { deadline: 0 }),
    'MISSED_DEADLINE_PERSISTENT',
  )
  expect(await next.shape()).toEqual([1, 2])
  await driver.closeAsync()
})

test.each([[[3, 3]], [[0, 2]], [[2]], [[]]])(
  'a driver that answers with the dimensions %j is not believed',
  async (answer) => {
    const backend: BackendBuffer = {
      copyFrom: async () => {},
      copyTo: async () => {},
      shape: async () => answer,
      release: () => {},
    }
    using buffer = new DeviceBuffer(backend, { operand: operand(), dimensions: [0, 2] })
    await expectFailure(() => buffer.shape(), 'GENERAL_FAILURE', 'Q14')
  },
)
