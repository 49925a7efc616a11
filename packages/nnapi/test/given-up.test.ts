import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { ArgumentError } from '@tenon/core'
import { buildModel, connectDriver, createFence, type Driver, type PreparedModel } from '../src/index.ts'
import { createFrozenPool, createPool, type Pool } from '@tenon/pools'
import { Server } from './server.ts'
import { addModel, expectFailure, expectNoLeaks, settled, until } from './support.ts'

let server: Server
let driver: Driver
let sleep: PreparedModel
let pool: Pool<'writable'>

const isServed = async (): Promise<boolean> =>
  sleep !== undefined &&
  (await sleep.runAsync(argsFor(0)).then(
    () => true,
    () => false,
  ))

/** Starts a driver, unless there is one. */
async function start(): Promise<void> {
  if (await isServed()) return
  await stop()
  server = await Server.start({ models: 4, buffers: 2, requests: 4, pools: 2 })
  driver = await connectDriver(server.path)
  pool = createPool(4096)
  const type = { type: 'TENSOR_FLOAT32', dimensions: [1] } as const
  using model = buildModel((g) => g.output(g.operation('SLEEP', [g.input('TENSOR_FLOAT32', [1])], type)))
  sleep = await driver.prepare(model)
}

async function stop(): Promise<void> {
  if (sleep === undefined) return
  await driver.closeAsync()
  pool.close()
  await server.stop()
}

// On a busy machine, a driver may end because it was not run for a tenth of a second behind a deadline.
beforeEach(start)
afterAll(stop)

/** What keeps the driver busy for a time, in milliseconds. */
const argsFor = (milliseconds: number, memory: Pool<'writable'> = pool, at = 0) => {
  memory.write(at, new Float32Array([milliseconds]))
  return { inputs: [memory.slice(at, 4)], outputs: [memory.slice(at + 8, 4)] }
}

/**
 * Asks a busy driver for something, and gives up before it answers; more often than it has room for. A driver that ends because the machine
 * did not run it in time is started again.
 */
async function giveUp(request: () => Promise<unknown>): Promise<void> {
  for (let starts = 0; ; starts++) {
    try {
      for (let i = 0; i < 6; i++) {
        const busy = sleep.runAsync(argsFor(30, pool, 1024))
        await expectFailure(request, 'MISSED_DEADLINE_TRANSIENT')
        await busy
        await settled(driver)
      }
      return
    } catch (error) {
      if (starts === 3 || (await isServed())) throw error
      await start()
    }
  }
}

test('models that are prepared after the deadline are released', async () => {
  using model = addModel([1])
  await giveUp(() => driver.prepare(model, { deadline: 1 }))
  using prepared = await driver.prepare(model)
  expect(prepared.isAlive).toBe(true)
})

test('device buffers that are allocated after the deadline are released', async () => {
  await giveUp(() => driver.allocate({ roles: [sleep.input(0)], deadline: 1 }))
  using buffer = await driver.allocate({ roles: [sleep.input(0)] })
  expect(buffer.byteSize).toBe(4)
})

test('the outcomes of executions that are launched after the deadline are discarded', async () => {
  await giveUp(() => sleep.runFencedAsync(argsFor(0), { deadline: 1 }))
  const execution = await sleep.runFencedAsync(argsFor(0))
  expect((await execution.info).status).toBe('NONE')
  execution.fence.close()
})

test('a blocking execution that misses its deadline holds its pools until the driver has answered', async () => {
  const memory = createPool(64)
  await expectFailure(() => sleep.run(argsFor(60, memory), { deadline: 1 }), 'MISSED_DEADLINE_TRANSIENT')
  await until(() => memory.gate.holds === 0, 'the pool is free')
  memory.close()
})

test('deadlines longer than a timer can wait are accepted', async () => {
  for (const timeout of [2 ** 31, 2 ** 53, Infinity]) {
    await sleep.runAsync(argsFor(20), { deadline: timeout })
    sleep.run(argsFor(0), { deadline: timeout })
    const execution = await sleep.runFencedAsync(argsFor(0), { deadline: timeout, deadlineAfterFences: timeout })
    await execution.fence.waitAsync({ timeout })
    expect((await execution.info).status).toBe('NONE')
    execution.fence.close()
  }
})

test.each([{ timeout: '5' }, { timeout: Number.NaN }, { priority: 'urgent' }, { priority: 'toString' }])(
  'options that make no sense: %o',
  async (options) => {
    expect(() => sleep.run(argsFor(0), options as object)).toThrow(ArgumentError)
    await expect(sleep.runAsync(argsFor(0), options as object)).rejects.toThrow(ArgumentError)
  },
)

test('timeouts of fences must be numbers, and those below 0 have passed', async () => {
  using source = createFence()
  using fence = source.fence
  const options = { timeout: Number.NaN }
  expect(() => fence.wait(options)).toThrow(ArgumentError)
  await expect(fence.waitAsync(options)).rejects.toThrow(ArgumentError)
  await expectFailure(() => fence.wait({ timeout: -1 }), 'MISSED_DEADLINE_TRANSIENT')
  await expectFailure(() => fence.waitAsync({ timeout: -1 }), 'MISSED_DEADLINE_TRANSIENT')
  const fenced = sleep.runFencedAsync(argsFor(0), { deadlineAfterFences: Number.NaN })
  await expect(fenced).rejects.toThrow(ArgumentError)
})

test('a blocking wait continues after a signal of the system', async () => {
  const execution = await sleep.runFencedAsync(argsFor(500))
  // Its end is a signal to this process.
  const child = spawn('sleep', ['0.1'])
  const exited = once(child, 'exit')
  execution.fence.wait({ timeout: 60_000 })
  expect(execution.fence.status).toBe('signaled')
  execution.fence.close()
  await exited
})

test('more pools than the driver takes, in one request or model, are refused, and nothing stays held', async () => {
  using model = addModel([1, 2])
  using prepared = await driver.prepare(model)
  const [a, b, c] = [createPool(64), createPool(64), createPool(64)]
  const burst = prepared.burst()
  burst.run({ inputs: [a.slice(0, 8)], outputs: [a.slice(16, 8)] })
  const both = { inputs: [b.slice(0, 8)], outputs: [c.slice(0, 8)] }
  for (let i = 0; i < 3; i++) {
    await expectFailure(() => prepared.run(both), 'RESOURCE_EXHAUSTED_TRANSIENT')
    await expectFailure(() => prepared.runAsync(both), 'RESOURCE_EXHAUSTED_TRANSIENT')
  }
  burst.close()
  expect(prepared.run(both).outputs[0]!.dimensions).toEqual([2])
  for (const memory of [a, b, c]) memory.close()
  const constants = [0, 1, 2].map((value) => createFrozenPool(new Float32Array([value])))
  using large = buildModel((g) => {
    let sum = g.input('TENSOR_FLOAT32', [1])
    for (const constant of constants)
      sum = g.operation('ADD', [sum, g.constant('TENSOR_FLOAT32', [1], constant.slice(0)), g.scalar('INT32', 0)], {
        type: 'TENSOR_FLOAT32',
        dimensions: [1],
      })
    g.output(sum)
  })
  await expectFailure(() => driver.prepare(large), 'RESOURCE_EXHAUSTED_TRANSIENT')
  sleep.run(argsFor(0))
  for (const constant of constants) constant[Symbol.dispose]()
})

test('a process without free descriptors cannot connect, and leaks none', async () => {
  await expectNoLeaks(async () => {
    const taken: number[] = []
    try {
      expect(() => {
        for (;;) taken.push(openSync('/dev/null', 'r'))
      }).toThrow(/EMFILE/)
      // Enough for the channel, not for its doorbell.
      for (const descriptor of taken.splice(-2)) closeSync(descriptor)
      await expectFailure(() => connectDriver(server.path), 'RESOURCE_EXHAUSTED_TRANSIENT')
    } finally {
      for (const descriptor of taken) closeSync(descriptor)
    }
  })
})
