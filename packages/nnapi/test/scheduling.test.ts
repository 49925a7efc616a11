import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildModel, connectDriver, type Driver, type PreparedModel } from '../src/index.ts'
import { createPool, type Pool } from '@tenon/pools'
import { Server } from './server.ts'
import { addModel, expectFailure, thrownBy } from './support.ts'

let server: Server
let driver: Driver
let sleep: PreparedModel
let pool: Pool<'writable'>
beforeAll(async () => {
  server = await Server.start()
  driver = await connectDriver(server.path)
  pool = createPool(4096)
  const type = { type: 'TENSOR_FLOAT32', dimensions: [1] } as const
  using model = buildModel((g) => g.output(g.operation('SLEEP', [g.input('TENSOR_FLOAT32', [1])], type)))
  sleep = await driver.prepare(model)
})
afterAll(async () => {
  await driver.closeAsync()
  pool.close()
  await server.stop()
})

/** Has the driver sleep for a time, in milliseconds, that is written at `at` of the pool. */
const sleeping = (milliseconds: number, at: number, options: Parameters<PreparedModel['runAsync']>[1] = {}) => {
  pool.write(at, new Float32Array([milliseconds]))
  return sleep.runAsync({ inputs: [pool.slice(at, 4)], outputs: [pool.slice(at + 8, 4)] }, options)
}

describe('requests that wait', () => {
  test('run in the order of priority, and then of arrival', async () => {
    const order: string[] = []
    const note = (name: string) => () => order.push(name)
    const first = sleeping(100, 0)
    await Promise.all([
      first,
      sleeping(0, 64, { priority: 'low' }).then(note('low')),
      sleeping(0, 128).then(note('medium 1')),
      sleeping(0, 192).then(note('medium 2')),
      sleeping(0, 256, { priority: 'high' }).then(note('high')),
    ])
    expect(order).toEqual(['high', 'medium 1', 'medium 2', 'low'])
  })

  test('do not run when they are cancelled before they begin', async () => {
    const controller = new AbortController()
    const first = sleeping(100, 0)
    const given = sleeping(60_000, 64, { signal: controller.signal })
    controller.abort()
    await expect(given).rejects.toMatchObject({ name: 'AbortError' })
    await first
    // Were it running, this would wait for it.
    await sleeping(0, 128, { deadline: 10_000 })
  })

  test('fail when their deadline passes in the queue or during the execution', async () => {
    const first = sleeping(150, 0)
    await expectFailure(() => sleeping(0, 64, { deadline: 20 }), 'MISSED_DEADLINE_TRANSIENT')
    await first
    // The driver ends executors that have not ended 100 ms after the deadline, and a busy machine sleeps longer than it is told to.
    await expectFailure(() => sleeping(40, 64, { deadline: 20 }), 'MISSED_DEADLINE_TRANSIENT')
    pool.write(0, new Float32Array([40]))
    const args = { inputs: [pool.slice(0, 4)], outputs: [pool.slice(8, 4)] }
    const error = await thrownBy(() => sleep.run(args, { deadline: 20 }))
    expect(error.status).toBe('MISSED_DEADLINE_TRANSIENT')
    await sleeping(0, 128)
  })

  test('each get their answer, blocking or not', async () => {
    using model = addModel([1, 2])
    using add = await driver.prepare(model)
    const waiting = [sleeping(50, 0), add.runAsync({ inputs: [pool.slice(1024, 8)], outputs: [pool.slice(1032, 8)] })]
    const { outputs } = add.run({ inputs: [pool.slice(1040, 8)], outputs: [pool.slice(1048, 8)] })
    expect(outputs[0]!.dimensions).toEqual([2])
    expect((await Promise.all(waiting)).map((result) => result.outputs[0]!.dimensions)).toEqual([[1], [2]])
  })

  test('are refused before they are sent when the driver takes no more', async () => {
    const running = Array.from({ length: 64 }, (_, i) => sleeping(i === 0 ? 50 : 0, i * 16))
    await expectFailure(() => sleeping(0, 2048), 'RESOURCE_EXHAUSTED_TRANSIENT')
    await Promise.all(running)
  })
})
