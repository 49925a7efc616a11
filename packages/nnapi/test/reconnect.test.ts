import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ArgumentError } from '@tenon/core'
import { connectDriver } from '../src/index.ts'
import { createPool, type PoolsError } from '@tenon/pools'
import { PathClient, unary } from './path-client.ts'
import { Server } from './server.ts'
import { addModel, expectFailure, floats, thrownBy } from './support.ts'

let server: Server

describe('a client of an executor that crashes', () => {
  beforeAll(async () => {
    server = await Server.start({}, { executors: 1 })
  })
  afterAll(() => server.stop())

  test('the hint of a request that was lost says how to go on', async () => {
    using model = unary('DIE')
    using pool = createPool(64)
    const args = { inputs: [pool.slice(0, 4)], outputs: [pool.slice(8, 4)] }
    for (const reconnect of [false, true]) {
      await using driver = await connectDriver(server.path, { reconnect })
      using prepared = await driver.prepare(model)
      const error = await thrownBy(() => prepared.runAsync(args))
      expect(error.details).toMatchObject({ status: 'DEAD_OBJECT' })
      expect((error as PoolsError).hint).toMatch(
        reconnect ? /^Make the request again, which waits until the driver is connected\./ : /^Start another driver/,
      )
    }
  })

  test('connects again, and its models are prepared again', async () => {
    await using driver = await connectDriver(server.path, { reconnect: true })
    using model = addModel([1])
    using prepared = await driver.prepare(model)
    using burst = prepared.burst()
    using pool = createPool(64)
    const args = { inputs: [pool.slice(0, 4)], outputs: [pool.slice(8, 4)] }
    burst.run(args)
    using buffer = await driver.allocate({ roles: [prepared.input(0), prepared.output(0)] })
    for (let i = 0; i < 3; i++) {
      const culprit = await PathClient.connect(server, 'DIE')
      await culprit.run(1).catch(() => {})
      await culprit.close()
      pool.write(0, new Float32Array([i]))
      // What was in flight when the executor ended has failed.
      const outcome = await prepared.runAsync(args).then(
        () => 'NONE',
        (error: PoolsError) => error.status,
      )
      if (outcome === 'DEAD_OBJECT') await prepared.runAsync(args)
      expect(floats(pool.read(8, 4))).toEqual([i + 1])
      prepared.run(args)
      burst.run(args)
    }
    await expectFailure(() => prepared.runAsync({ inputs: [buffer], outputs: [pool.slice(8, 4)] }), 'DEAD_OBJECT')
    await expect(connectDriver(server.path, { reconnect: 1 as never })).rejects.toThrow(ArgumentError)
  })
})
