import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import { packageFlags } from '@tenon/config/package-flags'
import { createPool } from '@tenon/pools'
import { attachDriver, type Driver, localDriver, spawnDriver, workerDriver, connectDriver } from '../src/index.ts'
import { Server } from './server.ts'
import { addModel, expectFailure, expectNoLeaks, floats, hasFiles, until } from './support.ts'

const server = async (): Promise<Driver> => {
  const started = await Server.start()
  const driver = await connectDriver(started.path)
  const close = driver.closeAsync.bind(driver)
  driver.closeAsync = async () => {
    await close()
    await started[Symbol.asyncDispose]()
  }
  return driver
}

const homes: readonly (readonly [string, () => Promise<Driver>])[] = [
  ['in a worker', workerDriver],
  ['in a child process', spawnDriver],
  ['at a path', server],
]

describe.runIf(hasFiles).each(homes)('a driver %s that threads share', (_, start) => {
  test('has the same buffers for all of them', async () => {
    const driver = await start()
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    const roles = [prepared.input(0), prepared.output(0)]
    const [x, y] = [await driver.allocate({ roles }), await driver.allocate({ roles })]
    using pool = createPool(64)
    pool.write(0, new Float32Array([10, 20]))
    await x.copyFrom(pool.slice(0, 8))
    await expectNoLeaks(async () => {
      const other = await attachDriver(await driver.share({ models: { prepared }, buffers: { x, y } }))
      using mine = createPool(64)
      other.models['prepared']!.run({ inputs: [other.buffers['x']!], outputs: [other.buffers['y']!] })
      prepared.run({ inputs: [y], outputs: [pool.slice(8, 8)] })
      expect(floats(pool.read(8, 8))).toEqual([12, 24])
      await other.buffers['y']!.copyTo(mine.slice(0, 8))
      mine.write(8, new Float32Array([1, 1]))
      await other.buffers['x']!.copyFrom(mine.slice(8, 8))
      expect(await other.buffers['x']!.shape()).toEqual([2])
      await x.copyTo(pool.slice(16, 8))
      expect([floats(mine.read(0, 8)), floats(pool.read(16, 8))]).toEqual([
        [11, 22],
        [1, 1],
      ])
      await other.driver.closeAsync()
    })
    // The objects that another thread named still work.
    prepared.run({ inputs: [x], outputs: [y] })
    await driver.closeAsync()
  })

  test('is used by two worker threads and this one at the same time', async () => {
    const driver = await start()
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    const roles = [prepared.input(0), prepared.output(0)]
    const x = await driver.allocate({ roles })
    using pool = createPool(64)
    pool.write(0, new Float32Array([10, 20]))
    await x.copyFrom(pool.slice(0, 8))
    const sums = [0, 1].map(async () => {
      const workerData = await driver.share({ models: { prepared }, buffers: { x } })
      const worker = new Worker(READER, { eval: true, workerData, execArgv: [...packageFlags] })
      const [[sum]] = await Promise.all([once(worker, 'message') as Promise<[number]>, once(worker, 'exit')])
      return sum
    })
    const own = (async () => {
      let sum = 0
      for (let i = 0; i < 200; i++) {
        prepared.run({ inputs: [x], outputs: [pool.slice(16, 8)] })
        sum += floats(pool.read(16, 8))[0]!
        if (i % 10 === 0) await x.copyTo(pool.slice(32, 8))
      }
      return sum
    })()
    expect(await Promise.all([...sums, own])).toEqual([2200, 2200, 2200])
    await driver.closeAsync()
  })

  test('lets an attached thread make no models and buffers, and release none', async () => {
    const driver = await start()
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    const x = await driver.allocate({ roles: [prepared.output(0), prepared.input(0)] })
    const other = await attachDriver(await driver.share({ models: { prepared }, buffers: { x } }))
    await expectFailure(() => other.driver.prepare(model), 'INVALID_ARGUMENT')
    await expectFailure(
      () => other.driver.allocate({ roles: [other.models['prepared']!.input(0)] }),
      'INVALID_ARGUMENT',
    )
    await expectFailure(() => other.driver.share(), 'INVALID_ARGUMENT')
    other.buffers['x']!.close()
    other.models['prepared']!.close()
    using pool = createPool(64)
    prepared.run({ inputs: [pool.slice(0, 8)], outputs: [x] })
    expect(await x.shape()).toEqual([2])
    await other.driver.closeAsync()
    await driver.closeAsync()
  })

  test('ends for all threads with the one that started it', async () => {
    const driver = await start()
    using model = addModel([1, 2])
    const prepared = await driver.prepare(model)
    const other = await attachDriver(await driver.share({ models: { prepared } }))
    await driver.closeAsync()
    using pool = createPool(64)
    const run = (): unknown =>
      other.models['prepared']!.run({ inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] })
    await expectFailure(run, 'DEAD_OBJECT')
    await other.driver.closeAsync()
  })

  test('forgets a thread that is terminated, and takes at most 16 besides the first', async () => {
    const driver = await start()
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    const handles: object[] = []
    for (let i = 0; i < 16; i++) handles.push(await driver.share({ models: { prepared } }))
    await expectFailure(() => driver.share(), 'RESOURCE_EXHAUSTED_TRANSIENT')
    const worker = new Worker(WAITER, { eval: true, workerData: handles[0], execArgv: [...packageFlags] })
    await once(worker, 'message')
    await worker.terminate()
    let again: unknown
    await until(() => {
      driver.share().then(
        (handle) => (again = handle),
        () => {},
      )
      return again !== undefined
    }, 'another thread can attach')
    await driver.closeAsync()
    await expectFailure(() => attachDriver(handles[1]!), 'DEAD_OBJECT')
  })
})

const READER = `
  const { parentPort, workerData } = require('node:worker_threads')
  Promise.all([import('@tenon/nnapi'), import('@tenon/pools')]).then(async ([{ attachDriver }, { createPool }]) => {
    const { driver, models, buffers } = await attachDriver(workerData)
    const pool = createPool(64)
    let sum = 0
    for (let i = 0; i < 200; i++) {
      models.prepared.run({ inputs: [buffers.x], outputs: [pool.slice(0, 8)] })
      sum += new Float32Array(pool.read(0, 8).buffer)[0]
      if (i % 10 === 0) await buffers.x.copyTo(pool.slice(8, 8))
    }
    await driver.closeAsync()
    pool.close()
    parentPort.postMessage(sum)
  })`

const WAITER = `
  const { parentPort, workerData } = require('node:worker_threads')
  import('@tenon/nnapi').then(async ({ attachDriver }) => {
    const { driver } = await attachDriver(workerData)
    setInterval(() => {}, 1000)
    parentPort.postMessage(driver.isAlive)
  })`

test('a handle is attached by one thread, once', async () => {
  await using driver = await workerDriver()
  const handle = await driver.share()
  const { driver: other } = await attachDriver(handle)
  const error = await expectFailure(() => attachDriver(handle), 'DEAD_OBJECT')
  expect(error.sentence).toBe('another thread has attached the handle, or its driver was closed')
  await other.closeAsync()
})

test('handles that nobody attached are closed with the driver', async () => {
  await expectNoLeaks(async () => {
    const driver = await spawnDriver()
    await driver.share()
    const { driver: other } = await attachDriver(await driver.share())
    await other.closeAsync()
    await driver.closeAsync()
  })
})

test('a driver on this thread cannot be shared, and only own models and buffers can', async () => {
  const driver = localDriver()
  const error = await expectFailure(() => driver.share(), 'GENERAL_FAILURE')
  expect(error.hint).toBe('Start the driver with workerDriver() or spawnDriver().')
  using model = addModel([1, 2])
  using prepared = await driver.prepare(model)
  await using other = await workerDriver()
  await expectFailure(() => other.share({ models: { prepared } }), 'INVALID_ARGUMENT')
  await expect(other.share({ buffers: { prepared } as never })).rejects.toThrow(
    'buffers must be an object whose values are each a DeviceBuffer',
  )
  await expect(other.share({ models: 3 as never })).rejects.toThrow('models must be an object with names, got 3')
  await expect(other.share({ buffer: {} } as never)).rejects.toThrow('buffer')
  await driver.closeAsync()
})

test.each([undefined, {}, { kind: 'tenon.memory' }])('%j is not a handle of a driver', async (handle) => {
  await expect(attachDriver(handle as never)).rejects.toThrow('handle must be what driver.share() returned')
})
