import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ArgumentError, ScopeClosedError } from '@tenon/core'
import { buildModel, connectDriver, type Driver, spawnDriver, workerDriver, operandSlice } from '../src/index.ts'
import { createPool, PoolsError } from '@tenon/pools'
import { Server } from './server.ts'
import { addModel, expectFailure, expectNoLeaks, thrownBy } from './support.ts'

describe('a driver that dies', () => {
  test.each(['DIE', 'DIE_EARLY'])('by its own kernel: %s', async (operation) => {
    for (const isSync of [true, false]) {
      await expectNoLeaks(async () => {
        await using server = await Server.start()
        await using driver = await connectDriver(server.path)
        using model = buildModel((g) =>
          g.output(
            g.operation(operation, [g.input('TENSOR_FLOAT32', [0])], { type: 'TENSOR_FLOAT32', dimensions: [0] }),
          ),
        )
        using pool = createPool(64)
        const args = { inputs: [operandSlice(pool, 0, 'TENSOR_FLOAT32', [2])], outputs: [pool.slice(16, 8)] }
        await expectFailure(async () => {
          // A kernel that dies while it plans dies when the model is prepared.
          using prepared = await driver.prepare(model)
          return isSync ? prepared.run(args) : await prepared.runAsync(args)
        }, 'DEAD_OBJECT')
        pool.write(0, Uint8Array.of(1))
      })
    }
  })

  test('during an execution: every request in flight fails', async () => {
    await expectNoLeaks(async () => {
      await using server = await Server.start()
      await using driver = await connectDriver(server.path)
      using model = buildModel((g) =>
        g.output(g.operation('SLEEP', [g.input('TENSOR_FLOAT32', [1])], { type: 'TENSOR_FLOAT32', dimensions: [1] })),
      )
      using prepared = await driver.prepare(model)
      using pool = createPool(64)
      pool.write(0, new Float32Array([60_000]))
      const running = Array.from({ length: 5 }, () =>
        prepared.runAsync({ inputs: [pool.slice(0, 4)], outputs: [pool.slice(8, 4)] }),
      )
      setTimeout(() => server.child.kill('SIGKILL'), 50)
      for (const result of await Promise.allSettled(running)) {
        expect(result.status).toBe('rejected')
        expect((result as PromiseRejectedResult).reason).toBeInstanceOf(PoolsError)
      }
    })
  })
})

describe("a worker of one's own", () => {
  test('after it has served: further requests fail', async () => {
    await expectNoLeaks(async () => {
      await using driver = await workerDriver({ script: join(import.meta.dirname, 'fixtures/worker.js') })
      using model = buildModel((g) =>
        g.output(g.operation('EXIT', [g.input('TENSOR_FLOAT32', [0])], { type: 'TENSOR_FLOAT32', dimensions: [0] })),
      )
      expect(await driver.supportedOperations(model)).toEqual([true])
      using prepared = await driver.prepare(model)
      using pool = createPool(64)
      const args = { inputs: [operandSlice(pool, 0, 'TENSOR_FLOAT32', [2])], outputs: [pool.slice(16, 8)] }
      await expectFailure(() => prepared.run(args), 'DEAD_OBJECT')
      await expectFailure(() => prepared.runAsync(args), 'DEAD_OBJECT')
    })
  })
})

describe('ends and beginnings', () => {
  if (process.platform === 'linux')
    test('a driver is ended before its client when the system lacks memory', async () => {
      const adjustment = (process: number): string => readFileSync(`/proc/${process}/oom_score_adj`, 'utf8')
      const own = adjustment(process.pid)
      const children = (): string[] =>
        readFileSync('/proc/self/task/' + process.pid + '/children', 'utf8')
          .trim()
          .split(' ')
      const before = children()
      await using driver = await spawnDriver()
      const started = children().filter((child) => !before.includes(child))
      expect(started.map((child) => adjustment(Number(child)))).toEqual(['1000\n'])
      await using server = await Server.start()
      await using client = await connectDriver(server.path)
      const [front, ...executors] = server.processes
      expect([front, ...executors].map((each) => adjustment(each!))).toEqual([own, ...executors.map(() => '1000\n')])
      expect(executors.length).toBeGreaterThan(0)
      expect([driver, client].map(({ isAlive }) => isAlive)).toEqual([true, true])
    })

  test('spawnDriver() and connectDriver() fail when the driver cannot be started or ends at once', async () => {
    await expectNoLeaks(async () => {
      expect((await thrownBy(() => spawnDriver({ command: ['/no/such/program'] }))).status).toBe('DEVICE_UNAVAILABLE')
      expect((await thrownBy(() => spawnDriver({ command: [process.execPath, '-e', ''] }))).status).toBe('DEAD_OBJECT')
      expect((await thrownBy(() => connectDriver('/no/such/socket'))).status).toBe('DEVICE_UNAVAILABLE')
    })
  })

  test('workerDriver() fails when the script cannot be started, fails, or ends at once', async () => {
    await expectNoLeaks(async () => {
      const code = (text: string) => new URL(`data:text/javascript,${encodeURIComponent(text)}`)
      expect((await thrownBy(() => workerDriver({ script: 'relative.js' }))).status).toBe('DEVICE_UNAVAILABLE')
      expect((await thrownBy(() => workerDriver({ script: './no-such-script.js' }))).status).toBe('DEVICE_UNAVAILABLE')
      const failed = await thrownBy(() => workerDriver({ script: code("throw new Error('on purpose')") }))
      expect([failed.status, (failed.cause as Error).message]).toEqual(['DEVICE_UNAVAILABLE', 'on purpose'])
      expect((await thrownBy(() => workerDriver({ script: code('') }))).status).toBe('DEAD_OBJECT')
    })
  })

  test('invalid commands, paths and deadlines are refused', async () => {
    await expectNoLeaks(async () => {
      expect((await thrownBy(() => spawnDriver({ command: ['a\0b'] }))).status).toBe('DEVICE_UNAVAILABLE')
      for (const command of ['node driver.js', [], ['node', 5]] as never[])
        await expect(spawnDriver({ command })).rejects.toThrow(ArgumentError)
      await expect(connectDriver({} as never)).rejects.toThrow(ArgumentError)
      for (const start of [spawnDriver, workerDriver])
        await expect(start({ deadline: Number.NaN })).rejects.toThrow(ArgumentError)
    })
  })

  test('starting a driver that never serves fails after the deadline', async () => {
    await expectNoLeaks(async () => {
      const command = [process.execPath, '-e', 'setInterval(() => {}, 1000)']
      await expectFailure(() => spawnDriver({ command, deadline: 100 }), 'MISSED_DEADLINE_TRANSIENT')
      const script = new URL('data:text/javascript,setInterval(() => {}, 1000)')
      await expectFailure(() => workerDriver({ script, deadline: 100 }), 'MISSED_DEADLINE_TRANSIENT')
      await using server = await Server.start()
      server.child.kill('SIGSTOP')
      await expectFailure(() => connectDriver(server.path, { deadline: 100 }), 'MISSED_DEADLINE_TRANSIENT')
    })
  })

  test('the models and buffers of a driver that has just died are closed without an error', async () => {
    await expectNoLeaks(async () => {
      await using server = await Server.start()
      await using driver = await connectDriver(server.path)
      const sleep = { type: 'TENSOR_FLOAT32', dimensions: [1] } as const
      using model = buildModel((g) => g.output(g.operation('SLEEP', [g.input('TENSOR_FLOAT32', [1])], sleep)))
      const prepared = await driver.prepare(model)
      const [pool, used] = [createPool(64), createPool(64)]
      pool.write(0, new Float32Array([60_000]))
      prepared.run({ inputs: [used.slice(0, 4)], outputs: [used.slice(8, 4)] })
      const controller = new AbortController()
      const args = { inputs: [pool.slice(0, 4)], outputs: [pool.slice(8, 4)] }
      const running = prepared.runAsync(args, { signal: controller.signal }).catch((error: Error) => error.name)
      const [front, ...executors] = server.processes
      server.child.kill('SIGKILL')
      // Without a turn of the event loop, which would notice. Its descriptors are closed once its last thread is gone.
      const isGone = () =>
        readdirSync(`/proc/${front}/task`).length === 1 && /\) Z/.test(readFileSync(`/proc/${front}/stat`, 'utf8'))
      while (!isGone() || executors.some((pid) => existsSync(`/proc/${pid}`)));
      used.close()
      controller.abort()
      expect(await running).toMatch(/AbortError|PoolsError/)
      prepared.close()
      pool.close()
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
        const running = prepared.runAsync({ inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] })
        const closing = driver.closeAsync()
        const outcome = await running.then(
          () => 'done',
          (error: PoolsError) => error.status,
        )
        expect(['done', 'DEAD_OBJECT']).toContain(outcome)
        await closing
        await expect(driver.closeAsync()).rejects.toThrow(ScopeClosedError)
        await driver[Symbol.asyncDispose]()
        expect(prepared.isAlive).toBe(false)
        expect((await thrownBy(() => driver.prepare(model))).status).toBe('DEAD_OBJECT')
        pool.close()
        model[Symbol.dispose]()
      }
    })
  })

  test('a child process inherits no descriptor', async () => {
    using pool = createPool(4096, { label: 'not-for-children' })
    await using driver = await spawnDriver()
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    prepared.run({ inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] })
    const child = spawn('sh', ['-c', 'ls -l /proc/self/fd'], { stdio: ['ignore', 'pipe', 'inherit'] })
    let text = ''
    for await (const chunk of child.stdout) text += String(chunk)
    // The first three are pipes of the test itself.
    const inherited = text.split('\n').filter((line) => Number(/ (\d+) ->/.exec(line)?.[1] ?? 0) > 2)
    expect(inherited.join('\n')).not.toMatch(/memfd|socket/)
  })

  test('serveDriver() replaces the socket of a dead driver, and refuses that of a live one', async () => {
    const first = await Server.start()
    first.child.kill('SIGKILL')
    await once(first.child, 'exit')
    const script = join(import.meta.dirname, 'fixtures/server.js')
    const second = spawn(process.execPath, [script, first.path], { stdio: ['ignore', 'inherit', 'inherit'] })
    const connect = async (): Promise<Driver> => {
      for (;;) {
        try {
          return await connectDriver(first.path)
        } catch {
          await new Promise((resolve) => setTimeout(resolve, 10))
        }
      }
    }
    await (await connect()).closeAsync()
    const third = spawn(process.execPath, [script, first.path], { stdio: ['ignore', 'inherit', 'ignore'] })
    expect((await once(third, 'exit'))[0]).toBe(1)
    await (await connect()).closeAsync()
    second.kill('SIGKILL')
    await once(second, 'exit')
    await first.stop()
  })
})
