import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { isSanitized } from '@tenon/config/sanitizer'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { ArgumentError } from '@tenon/core'
import { PeerGone } from '../src/link/link.ts'
import { connectTo, closeDescriptor } from '@tenon/pools/internal'
import { fenceStatus } from '../src/link/socket.ts'
import { buildModel, type BuiltModel, connectDriver, type Driver, serveDriver, spawnDriver } from '../src/index.ts'
import { createPool, type PoolsError } from '@tenon/pools'
import { operations } from '../src/wire/frame.ts'
import { PathClient, unary, vector } from './path-client.ts'
import { RawClient } from './raw-client.ts'
import { Server, type ServerOptions } from './server.ts'
import { expectFailure, floats, thrownBy, until } from './support.ts'

const MIB = 2 ** 20
const execute = promisify(execFile)
let server: Server
const workers: PathClient[] = []
const serve = async (limits = {}, options: ServerOptions = {}): Promise<void> => {
  server = await Server.start(limits, options)
}
const connect = async (operation = 'BUSY'): Promise<PathClient> => {
  const worker = await PathClient.connect(server, operation)
  workers.push(worker)
  return worker
}
/** The server of one test, which ends with it. */
let own: Server | undefined
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.close()
  await own?.stop()
  own = undefined
})
const expectServed = async (): Promise<void> => {
  const honest = await connect('RELU')
  await honest.run(3)
  expect(floats(honest.pool.read(8, 4))).toEqual([3])
}

describe('connections of clients', () => {
  beforeAll(() => serve({}, { totals: { clients: 4 } }))
  afterAll(() => server.stop())

  test.each([127, 1000])('keeps at most 32 of %d silent connections, and each for 2 s', async (count) => {
    const silent = Array.from({ length: count }, () => connectTo(server.path))
    try {
      await expectServed()
      const isOpen = (descriptor: number): boolean => fenceStatus(descriptor) === 'active'
      await until(() => silent.filter(isOpen).length <= 32, 'the oldest are dropped')
      await until(() => !silent.some(isOpen), 'the others are dropped')
    } finally {
      silent.forEach(closeDescriptor)
    }
    expect(server.isRunning).toBe(true)
  })

  test('disconnects a client whose first message is garbage or only the start of a frame', async () => {
    for (const length of [1, 39]) {
      const client = new RawClient(server.path)
      client.socket.sent.bytes.fill(7)
      client.socket.send(length, [], 1000)
      expect(() => client.receive()).toThrow(PeerGone)
      client.close()
    }
    await expectServed()
  })

  test('disconnects a client that never reads its answers', async () => {
    const client = new RawClient(server.path)
    client.hello()
    const flood = (): void => {
      for (;;) client.send(operations.SUPPORTED, {})
    }
    expect(flood).toThrow(PeerGone)
    client.close()
    await expectServed()
  })

  test('refuses more clients than its total', async () => {
    for (let i = 0; i < 4; i++) await connect()
    const error = await expectFailure(() => connectDriver(server.path), 'RESOURCE_EXHAUSTED_TRANSIENT')
    expect(error.message).toContain('4 clients')
    await workers.pop()!.close()
    await until(() => server.isRunning, 'it serves')
    for (;;) {
      try {
        await connect()
        break
      } catch (refused) {
        // The front notices a moment later that a client has left.
        expect((refused as PoolsError).status).toBe('RESOURCE_EXHAUSTED_TRANSIENT')
      }
    }
  })

  test('serveDriver() refuses options that it cannot keep', () => {
    expect(() => serveDriver({ executors: 2 })).toThrow(ArgumentError)
    expect(() => serveDriver({ totals: {} })).toThrow(ArgumentError)
    for (const executors of [0, 65, 1.5, '2'] as number[])
      expect(() => serveDriver({ path: '/no/such/directory/s', executors })).toThrow(/executors/)
    expect(() => serveDriver({ path: '/no/such/directory/s', totals: { client: 1 } as never })).toThrow(/clients/)
  })
})

describe('the turns of clients', () => {
  beforeAll(() => serve({}, { executors: 1 }))
  afterAll(() => server.stop())

  /** Keeps requests of a client in flight until it is disposed. */
  const flood = (worker: PathClient, milliseconds: number, options: object): AsyncDisposable => {
    const state = { isOver: false }
    const loops = Array.from({ length: 64 }, async (_, place) => {
      while (!state.isOver) await worker.run(milliseconds, options, place)
    })
    return {
      async [Symbol.asyncDispose]() {
        state.isOver = true
        await Promise.all(loops)
      },
    }
  }

  test.each([
    ['medium', 'high', 4],
    ['medium', 'medium', 4],
    ['low', 'medium', 4],
    ['high', 'low', 40],
    ['high', 'medium', 40],
  ] as const)('a queue of 64 %s requests does not delay a %s one of another client', async (many, one, most) => {
    const [greedy, modest] = [await connect(), await connect()]
    await using _ = flood(greedy, 2, { priority: many })
    await until(() => greedy.done > 20, 'the queue is full')
    const before = greedy.done
    for (let i = 0; i < 5; i++) await modest.run(0, { priority: one })
    // Requests of the greedy client that ended while five of the modest one ended.
    expect(greedy.done - before).toBeLessThanOrEqual(5 * most)
  })

  test('a client that comes late does not keep the others waiting', async () => {
    const early = await connect()
    await early.run(300)
    const late = await connect()
    await using _ = flood(late, 2, {})
    await until(() => late.done > 20, 'the queue is full')
    const before = late.done
    await early.run(0)
    // A client without a turn in the last second begins with the most time of any. With credit for the 300 ms of the other one, it would have 150
    // turns first. On a busy machine, answers from before are counted as well.
    expect(late.done - before).toBeLessThanOrEqual(40)
  })

  test('none of the processes that block in their requests starves', async () => {
    const script = join(import.meta.dirname, 'fixtures/loop.js')
    const args = [script, server.path, String(Date.now() + 2000)]
    const outputs = await Promise.all(Array.from({ length: 4 }, () => execute(process.execPath, args)))
    const counts = outputs.map(({ stdout }) => Number(stdout))
    // On a busy machine a process may start late, or wait for its processor more than for its turns.
    expect(Math.min(...counts)).toBeGreaterThan(Math.max(...counts) / 8)
  })
})

describe('deadlines of a driver', () => {
  beforeAll(() => serve({}, { executors: 1 }))
  afterAll(() => server.stop())

  const size = 512
  const conv = (): BuiltModel =>
    buildModel((g) => {
      const image = { type: 'TENSOR_FLOAT32', dimensions: [1, size, size, 64] } as const
      const x = g.input('TENSOR_FLOAT32', image.dimensions)
      const filter = g.constant('TENSOR_FLOAT32', [64, 7, 7, 64], new Float32Array(64 * 7 * 7 * 64))
      const one = g.scalar('INT32', 1)
      const bias = g.constant('TENSOR_FLOAT32', [64], new Float32Array(64))
      g.output(g.operation('CONV_2D', [x, filter, bias, one, one, one, g.scalar('INT32', 0)], image))
    })
  const bytes = size * size * 64 * 4

  test.each(['deadline', 'client that leaves'])(
    'a long operation ends at a %s, and its executor lives',
    async (how) => {
      const driver = await connectDriver(server.path)
      using model = conv()
      const prepared = await driver.prepare(model)
      const pool = createPool(2 * bytes)
      const args = { inputs: [pool.slice(0, bytes)], outputs: [pool.slice(bytes, bytes)] }
      const neighbour = await connect('RELU')
      if (how === 'deadline') {
        const start = performance.now()
        await expectFailure(() => prepared.runAsync(args, { deadline: 100 }), 'MISSED_DEADLINE_TRANSIENT')
        await until(() => pool.gate.holds === 0, 'the driver has answered')
        // The operation itself takes half a minute or more.
        expect(performance.now() - start).toBeLessThan(15_000)
      } else {
        const running = prepared.runAsync(args).catch((error: PoolsError) => error.status)
        await sleep(30)
        await driver.closeAsync()
        expect(await running).toBe('DEAD_OBJECT')
      }
      await neighbour.run(1)
      expect(server.isRunning).toBe(true)
      await driver[Symbol.asyncDispose]()
      pool.close()
    },
  )

  test.each(['deadline', 'client that leaves'])('an operation that cannot be asked ends at a %s', async (how) => {
    const [busy, neighbour] = [await connect(), await connect('RELU')]
    const running = thrownBy(() => busy.run(60_000, how === 'deadline' ? { deadline: 50 } : {}))
    await sleep(30)
    const waiting = thrownBy(() => neighbour.run(1))
    if (how !== 'deadline') await workers.splice(0, 1)[0]!.close()
    expect((await running).status).toBe(how === 'deadline' ? 'MISSED_DEADLINE_TRANSIENT' : 'DEAD_OBJECT')
    const { status, details, message } = await waiting
    expect(status).toBe('DEAD_OBJECT')
    expect(details).toMatchObject({
      signal: 'SIGKILL',
      reason: expect.stringContaining(how === 'deadline' ? how : 'left'),
    })
    expect(message).toContain('SIGKILL')
    await expectServed()
  })

  test('a fence fails at the deadline, although the driver hangs', async () => {
    const script = join(import.meta.dirname, 'fixtures/server.js')
    await using driver = await spawnDriver({ command: [process.execPath, script] })
    using model = unary('SLEEP')
    const prepared = await driver.prepare(model)
    const pool = createPool(64)
    // Long enough for the driver to take the request on a busy machine.
    for (const times of [{ deadline: 300 }, { deadlineAfterFences: 300 }]) {
      pool.write(0, new Float32Array([3000]))
      const args = { inputs: [pool.slice(0, 4)], outputs: [pool.slice(8, 4)] }
      const execution = await prepared.runFencedAsync(args, times)
      await expectFailure(() => execution.fence.waitAsync(), 'GENERAL_FAILURE')
      expect((await execution.info).status).toBe('MISSED_DEADLINE_TRANSIENT')
      expect(execution.fence.status).toBe('failed')
      // The driver runs still, and may write to the pool.
      expect(pool.gate.holds).toBe(1)
      execution.close()
      await until(() => pool.gate.holds === 0, 'the driver has answered')
    }
    pool.close()
  })

  test('a request without a deadline has that of the driver', async () => {
    await using limited = await Server.start({ deadline: 100 }, { executors: 1 })
    const worker = await PathClient.connect(limited, 'BUSY')
    const error = await expectFailure(() => worker.run(60_000), 'DEAD_OBJECT')
    expect(error.details).toMatchObject({ signal: 'SIGKILL' })
    await worker.close()
  })
})

describe('totals', () => {
  test('of device buffers hold for all clients together, and are free again when clients leave', async () => {
    own = server = await Server.start({}, { totals: { bufferBytes: 64 * MIB } })
    const size = (16 * MIB) / 4
    using model = unary('RELU', size)
    const drivers = await Promise.all(Array.from({ length: 8 }, () => connectDriver(server.path)))
    const allocate = async (driver: Driver): Promise<string> => {
      const prepared = await driver.prepare(model)
      return driver.allocate({ roles: [prepared.input(0)] }).then(
        () => 'NONE',
        (error: PoolsError) => error.status,
      )
    }
    const outcomes: string[] = []
    for (const driver of drivers) outcomes.push(await allocate(driver))
    expect(outcomes.filter((outcome) => outcome === 'NONE')).toHaveLength(4)
    expect(outcomes.filter((outcome) => outcome === 'RESOURCE_EXHAUSTED_TRANSIENT')).toHaveLength(4)
    for (const driver of drivers.splice(0, 4)) await driver.closeAsync()
    // An executor notices a moment later that a client has left.
    for (let tries = 0; (await allocate(drivers[0]!)) !== 'NONE'; tries++) expect(tries).toBeLessThan(1000)
    for (const driver of drivers) await driver.closeAsync()
  })

  test('of pools and of working memory hold for all clients together', async () => {
    own = server = await Server.start({}, { executors: 1, totals: { poolBytes: 2 * MIB, workingBytes: MIB } })
    const [one, other] = [await connect('RELU'), await connect('RELU')]
    using pool = createPool(1.5 * MIB)
    await one.run(1)
    const args = { inputs: [pool.slice(0, 4)], outputs: [pool.slice(8, 4)] }
    await one.prepared.runAsync(args)
    await expectFailure(() => other.prepared.runAsync(args), 'RESOURCE_EXHAUSTED_TRANSIENT')
    const count = (MIB * 3) / 16
    using large = buildModel((g) => {
      const between = g.operation('TANH', [g.input('TENSOR_FLOAT32', [count])], vector(count))
      g.output(g.operation('TANH', [between], vector(count)))
    })
    using first = await one.driver.prepare(large)
    await expectFailure(() => other.driver.prepare(large), 'RESOURCE_EXHAUSTED_TRANSIENT')
    first.close()
    await one.driver.supportedOperations(large)
    using second = await other.driver.prepare(large)
    expect(second.isAlive).toBe(true)
    second.close()
  })

  test('of waiting requests hold for all clients together', async () => {
    own = server = await Server.start({}, { executors: 1, totals: { requests: 8 } })
    const [one, other] = [await connect(), await connect()]
    const first = one.run(150)
    await sleep(50)
    const runs = Array.from({ length: 8 }, (_, i) => (i % 2 ? one : other).run(0, {}, i + 1))
    const refused = other.run(0, {}, 20)
    await expectFailure(() => refused, 'RESOURCE_EXHAUSTED_TRANSIENT')
    await Promise.all([first, ...runs])
  })

  // AddressSanitizer keeps what was freed.
  if (!isSanitized)
    test('memory is back within 5 % of the start when clients have left', async () => {
      own = server = await Server.start({}, {})
      using model = unary('TANH', (32 * MIB) / 4)
      using pool = createPool(32 * MIB)
      const memory = (): number => server.residentBytes('RssAnon')
      /** Clients come, fill 256 MiB together, and leave. */
      const visit = async (): Promise<void> => {
        const before = memory()
        const drivers = await Promise.all(Array.from({ length: 4 }, () => connectDriver(server.path)))
        for (const driver of drivers) {
          const prepared = await driver.prepare(model)
          for (let i = 0; i < 2; i++) {
            const buffer = await driver.allocate({ roles: [prepared.input(0)] })
            await buffer.copyFrom(pool.slice(0, 32 * MIB))
          }
        }
        expect(memory() - before).toBeGreaterThan(200 * MIB)
        for (const driver of drivers) await driver.closeAsync()
        await until(() => memory() - before < 16 * MIB, 'device buffers are given back at once')
      }
      // The start is a driver that had such clients before, so that all code is compiled, and that was idle for a while since.
      for (let i = 0; i < 3; i++) await visit()
      await sleep(2000)
      const start = memory()
      for (let round = 0; round < 2; round++) {
        await visit()
        await until(
          () => memory() < start * 1.05,
          () => `RssAnon is back from ${memory()} at ${start}`,
        )
      }
    })
})

describe('an executor that crashes', () => {
  beforeAll(() => serve({}, { executors: 1 }))
  afterAll(() => server.stop())

  test('is started again, and its clients learn how it ended', async () => {
    for (let i = 0; i < 3; i++) {
      const [culprit, neighbour] = [await connect('DIE'), await connect('SLEEP')]
      await expectFailure(() => culprit.run(1), 'DEAD_OBJECT')
      const error = await thrownBy(() =>
        neighbour.prepared.run({ inputs: [neighbour.pool.slice(0, 4)], outputs: [neighbour.pool.slice(8, 4)] }),
      )
      expect(error.details).toMatchObject({ status: 'DEAD_OBJECT', signal: 'SIGKILL' })
      await expectServed()
      for (const worker of workers.splice(0)) await worker.close()
    }
  })
})
