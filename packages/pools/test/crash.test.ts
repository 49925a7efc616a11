import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  buildModel,
  connectDriver,
  createPool,
  type Driver,
  type DeviceBuffer,
  type Pool,
  type PreparedModel,
  PoolsError,
  spawnDriver,
  workerDriver,
} from '../src/index.ts'
import { Server } from './server.ts'
import { addModel, expectFailure, expectNoLeaks, floats, thrownBy } from './support.ts'

/** How often each point is tried: `TENON_SOAK=100` is for a long night. */
const rounds = Number(process.env['TENON_SOAK'] ?? 1)
const timeout = 30_000 + 2000 * rounds

/** Work of every kind; `step` runs between its parts and may kill somebody. */
async function work(driver: Driver, step: () => void): Promise<void> {
  const opened: (PreparedModel | DeviceBuffer | Pool | { [Symbol.dispose](): void })[] = []
  const keep = <T extends (typeof opened)[number]>(one: T): T => (opened.push(one), one)
  try {
    const model = keep(addModel(Array.from({ length: 64 }, (_, i) => i)))
    const preparing = driver.prepare(model)
    step()
    const prepared = keep(await preparing)
    step()
    const pool = keep(createPool(4096))
    const args = { inputs: [pool.slice(0, 256)], outputs: [pool.slice(1024, 256)] }
    prepared.executeSync(args)
    step()
    const running = Promise.allSettled([
      prepared.execute(args),
      prepared.execute(args),
      driver.supportedOperations(model),
    ])
    step()
    for (const result of await running) if (result.status === 'rejected') throw result.reason
    step()
    const allocating = driver.allocate({ roles: [prepared.input(0), prepared.output(0)] })
    step()
    const buffer = keep(await allocating)
    step()
    const copying = buffer.copyFrom(pool.slice(0, 256))
    step()
    await copying
    step()
    const reading = prepared.execute({ inputs: [buffer], outputs: [pool.slice(2048, 256)] })
    step()
    await reading
  } finally {
    for (const one of opened.toReversed()) one[Symbol.dispose]()
  }
}

describe('defence 13: a driver that is killed', () => {
  test.each(Array.from({ length: 20 }, (_, point) => point))('at point %i', { timeout }, async (point) => {
    for (let round = 0; round < rounds; round++) {
      await expectNoLeaks(async () => {
        const server = await Server.start()
        const driver = await connectDriver({ path: server.path })
        let steps = 0
        let wasKilled = false
        const error = await thrownBy(async () => {
          for (;;) {
            await work(driver, () => {
              if (steps++ !== point) return
              server.child.kill('SIGKILL')
              wasKilled = true
            })
          }
        })
        expect([error.status, wasKilled]).toEqual(['DEAD_OBJECT', true])
        expect((await thrownBy(() => driver.supportedOperations(addModel([1])))).status).toBe('DEAD_OBJECT')
        await driver.close()
        await server.stop()
      })
    }
  })

  test.each(['DIE', 'DIE_EARLY'])('by its own kernel: %s', async (operation) => {
    for (const isSync of [true, false]) {
      await expectNoLeaks(async () => {
        await using server = await Server.start()
        await using driver = await connectDriver({ path: server.path })
        using model = buildModel((g) =>
          g.output(
            g.operation(operation, [g.input('TENSOR_FLOAT32', [0])], { type: 'TENSOR_FLOAT32', dimensions: [0] }),
          ),
        )
        using prepared = await driver.prepare(model)
        using pool = createPool(64)
        const args = { inputs: [pool.tensor(0, 'TENSOR_FLOAT32', [2])], outputs: [pool.slice(16, 8)] }
        await expectFailure(() => (isSync ? prepared.executeSync(args) : prepared.execute(args)), 'DEAD_OBJECT')
        pool.write(0, Uint8Array.of(1))
      })
    }
  })

  test('while it sleeps in an execution: every request in flight is told', async () => {
    await expectNoLeaks(async () => {
      await using server = await Server.start()
      await using driver = await connectDriver({ path: server.path })
      using model = buildModel((g) =>
        g.output(g.operation('SLEEP', [g.input('TENSOR_FLOAT32', [1])], { type: 'TENSOR_FLOAT32', dimensions: [1] })),
      )
      using prepared = await driver.prepare(model)
      using pool = createPool(64)
      pool.write(0, new Float32Array([60_000]))
      const running = Array.from({ length: 5 }, () =>
        prepared.execute({ inputs: [pool.slice(0, 4)], outputs: [pool.slice(8, 4)] }),
      )
      setTimeout(() => server.child.kill('SIGKILL'), 50)
      for (const result of await Promise.allSettled(running)) {
        expect(result.status).toBe('rejected')
        expect((result as PromiseRejectedResult).reason).toBeInstanceOf(PoolsError)
      }
    })
  })
})

describe('defence 13: a client that is killed', () => {
  test.each(Array.from({ length: 20 }, (_, point) => point))('at point %i', { timeout }, async (point) => {
    await using server = await Server.start()
    await using survivor = await connectDriver({ path: server.path })
    for (let round = 0; round < rounds; round++) {
      const child = spawn(
        process.execPath,
        [join(import.meta.dirname, 'fixtures/client.js'), server.path, String(point)],
        { stdio: ['ignore', 'inherit', 'inherit'] },
      )
      const [, signal] = (await once(child, 'exit')) as [number | null, string | null]
      expect(signal).toBe('SIGKILL')
      using model = addModel([1, 2])
      using prepared = await survivor.prepare(model)
      using pool = createPool(64)
      prepared.executeSync({ inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] })
      expect(floats(pool.read(8, 8))).toEqual([1, 2])
    }
    await survivor.close()
    await server.isIdle()
  })
})

describe('ends and beginnings', () => {
  test('a driver that can not be started, or ends at once', async () => {
    await expectNoLeaks(async () => {
      expect((await thrownBy(() => spawnDriver({ command: ['/no/such/program'] }))).status).toBe('DEVICE_UNAVAILABLE')
      expect((await thrownBy(() => spawnDriver({ command: [process.execPath, '-e', ''] }))).status).toBe('DEAD_OBJECT')
      expect((await thrownBy(() => connectDriver({ path: '/no/such/socket' }))).status).toBe('DEVICE_UNAVAILABLE')
    })
  })

  test.each([
    ['worker', workerDriver],
    ['child process', spawnDriver],
  ] as const)('a %s leaves nothing behind when it is closed', async (_, start) => {
    await expectNoLeaks(async () => {
      for (let i = 0; i < 5; i++) {
        const driver = await start()
        const model = addModel([1, 2])
        const prepared = await driver.prepare(model)
        const pool = createPool(64)
        const running = prepared.execute({ inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] })
        const closing = driver.close()
        const outcome = await running.then(
          () => 'done',
          (error: PoolsError) => error.status,
        )
        expect(['done', 'DEAD_OBJECT']).toContain(outcome)
        await closing
        await driver.close()
        expect(prepared.isAlive).toBe(false)
        expect((await thrownBy(() => driver.prepare(model))).status).toBe('DEAD_OBJECT')
        pool.close()
        model[Symbol.dispose]()
      }
    })
  })

  test('defence 21: a child process inherits no descriptor', async () => {
    using pool = createPool(4096, { label: 'not-for-children' })
    await using driver = await spawnDriver()
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    prepared.executeSync({ inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] })
    const child = spawn('sh', ['-c', 'ls -l /proc/self/fd'], { stdio: ['ignore', 'pipe', 'inherit'] })
    let text = ''
    for await (const chunk of child.stdout) text += String(chunk)
    // The first three are pipes of the test itself.
    const inherited = text.split('\n').filter((line) => Number(/ (\d+) ->/.exec(line)?.[1] ?? 0) > 2)
    expect(inherited.join('\n')).not.toMatch(/memfd|socket/)
  })

  test('a stale socket is replaced, and a live one is not', async () => {
    const first = await Server.start()
    first.child.kill('SIGKILL')
    await once(first.child, 'exit')
    const script = join(import.meta.dirname, 'fixtures/server.js')
    const second = spawn(process.execPath, [script, first.path], { stdio: ['ignore', 'inherit', 'inherit'] })
    const connect = async (): Promise<Driver> => {
      for (;;) {
        try {
          return await connectDriver({ path: first.path })
        } catch {
          await new Promise((resolve) => setTimeout(resolve, 10))
        }
      }
    }
    await (await connect()).close()
    const third = spawn(process.execPath, [script, first.path], { stdio: ['ignore', 'inherit', 'ignore'] })
    expect((await once(third, 'exit'))[0]).toBe(1)
    await (await connect()).close()
    second.kill('SIGKILL')
    await once(second, 'exit')
    await first.stop()
  })
})
