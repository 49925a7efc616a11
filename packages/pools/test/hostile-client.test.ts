import { mkdtempSync, openSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { buildModel, connectDriver, createPool, type DeviceBuffer, errorStatus, openFilePool, type PreparedModel } from '../src/index.ts'
import { encodeBody } from '../src/channel/body.ts'
import { HEADER_SIZE, operations, writeHeader } from '../src/channel/frame.ts'
import { closeDescriptor, createSharedMemory } from '../src/native/descriptor.ts'
import { PeerGone } from '../src/native/socket.ts'
import { RawClient } from './raw-client.ts'
import { Server } from './server.ts'
import { addModel, expectFailure, floats, handModel, thrownBy } from './support.ts'

const limits = { pools: 20, poolBytes: 2 ** 33, models: 10, buffers: 10, bufferBytes: 4096, modelBytes: 2 ** 20, requests: 8, workingBytes: 2 ** 24 }
let server: Server
beforeAll(async () => {
  server = await Server.start(limits)
})
afterAll(() => server.stop())

/** An honest client is served. */
async function expectServed(): Promise<void> {
  await using driver = await connectDriver({ path: server.path })
  using model = addModel([1, 2])
  using prepared = await driver.prepare(model)
  using pool = createPool(64)
  prepared.executeSync({ inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] })
  expect(floats(pool.read(8, 8))).toEqual([1, 2])
}

afterEach(async () => {
  expect(server.isRunning).toBe(true)
  await expectServed()
})

const GONE = expect.any(PeerGone)

/** Runs a raw client, whose leavings must be gone afterwards. */
async function attack(run: (client: RawClient) => void | Promise<void>): Promise<void> {
  const client = new RawClient(server.path)
  try {
    await run(client)
  } finally {
    client.close()
  }
  await server.isIdle()
}

/** Expects that the driver ends the connection. */
const expectDisconnected = (client: RawClient): void => {
  let failure: unknown
  try {
    for (;;) client.receive()
  } catch (error) {
    failure = error
  }
  expect(failure).toEqual(GONE)
}

/** Registers a pool with what it is said to be, and prepares a model that names it: the answer's status and rule. */
function statusOfPool(client: RawClient, descriptor: number, said: object): { status: number; rule: string | undefined } {
  client.send(operations.REGISTER_POOL, { id: 1, kind: 'shared', byteSize: 4096, byteOffset: 0, isWritable: true, ...said }, [descriptor])
  closeDescriptor(descriptor)
  const { header, body } = client.call(operations.PREPARE, { model: { ...handModel(), pools: [1] } })
  return { status: header.status, rule: header.status === 0 || body.field('rule').isMissing ? undefined : body.field('rule').string() }
}

describe('defences 1 to 4: descriptors that lie', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-hostile-'))
  afterAll(() => rmSync(directory, { recursive: true }))
  const file = (byteSize: number): number => {
    const path = join(directory, `f${Math.random()}`)
    writeFileSync(path, Buffer.alloc(byteSize))
    return openSync(path, 'r+')
  }
  const memory = (byteSize = 4096): number => createSharedMemory(byteSize, 'hostile')

  test.each([
    ['an honest pool', () => memory(), {}, 0, undefined],
    ['a byte too many', () => memory(), { byteSize: 4097 }, errorStatus.GENERAL_FAILURE, 'P15'],
    ['a page too many', () => memory(), { byteSize: 8192 }, errorStatus.GENERAL_FAILURE, 'P15'],
    ['no bytes', () => memory(), { byteSize: 0 }, errorStatus.INVALID_ARGUMENT, 'P5'],
    ['2^32 bytes', () => memory(), { byteSize: 2 ** 32 }, errorStatus.INVALID_ARGUMENT, undefined],
    ['2^63 bytes', () => memory(), { byteSize: 2 ** 63 }, errorStatus.INVALID_ARGUMENT, undefined],
    ['a negative size', () => memory(), { byteSize: -1 }, errorStatus.INVALID_ARGUMENT, undefined],
    ['a size that is no number', () => memory(), { byteSize: '4096' }, errorStatus.INVALID_ARGUMENT, undefined],
    ['an offset past 2^53', () => file(4096), { kind: 'file', byteOffset: 2 ** 60 }, errorStatus.INVALID_ARGUMENT, 'P7'],
    ['an offset between pages', () => file(8192), { kind: 'file', byteOffset: 100 }, errorStatus.GENERAL_FAILURE, 'P7'],
    ['an offset past the end', () => file(8192), { kind: 'file', byteOffset: 8192 }, errorStatus.GENERAL_FAILURE, 'P15'],
    ['an unknown kind', () => memory(), { kind: 'ashmem' }, errorStatus.INVALID_ARGUMENT, 'P1'],
    ['memory that could shrink', () => file(4096), {}, errorStatus.GENERAL_FAILURE, 'P15'],
    ['a device', () => openSync('/dev/zero', 'r+'), {}, errorStatus.GENERAL_FAILURE, 'P15'],
    ['a directory', () => openSync(directory, 'r'), { kind: 'file' }, errorStatus.GENERAL_FAILURE, 'P15'],
    ['procfs', () => openSync('/proc/self/maps', 'r'), { kind: 'file' }, errorStatus.GENERAL_FAILURE, 'P15'],
    ['a terabyte of nothing', () => memory(2 ** 40), { byteSize: 0xffff_ffff }, 0, undefined],
  ] as const)('%s', async (_, open, said, status, rule) => {
    await attack((client) => {
      const found = statusOfPool(client, open(), said)
      expect(found.status).toBe(status)
      if (rule !== undefined) expect(found.rule).toBe(rule)
    })
  })

  test('P2, P8: a pool without a descriptor, or with two', async () => {
    for (const count of [0, 2]) {
      await attack((client) => {
        const descriptors = Array.from({ length: count }, () => memory())
        client.send(operations.REGISTER_POOL, { id: 1, kind: 'shared', byteSize: 4096, byteOffset: 0, isWritable: true }, descriptors)
        descriptors.forEach(closeDescriptor)
        expectDisconnected(client)
      })
    }
  })

  test('1, 6: a file truncated again and again while it is read', async () => {
    const path = join(directory, 'flickering')
    writeFileSync(path, Buffer.alloc(1 << 20))
    await using driver = await connectDriver({ path: server.path })
    using model = addModel([1], [0])
    using prepared = await driver.prepare(model)
    using pool = createPool(1 << 20)
    let failures = 0
    for (let i = 0; i < 50; i++) {
      truncateSync(path, 1 << 20)
      using source = openFilePool(path)
      const running = prepared.execute({ inputs: [source.tensor(0, 'TENSOR_FLOAT32', [1 << 18])], outputs: [pool.slice(0, 1 << 20)] })
      truncateSync(path, 100)
      await running.catch((error: { status: string }) => {
        expect(error.status).toBe('GENERAL_FAILURE')
        failures++
      })
    }
    expect(failures).toBeGreaterThan(0)
  })
})

describe('defences 8 and 9: exhaustion', () => {
  test('10000 pools leave descriptors and mappings at the limit', async () => {
    await attack((client) => {
      const descriptor = createSharedMemory(4096, 'many')
      for (let id = 1; id <= 10_000; id++) client.send(operations.REGISTER_POOL, { id, kind: 'shared', byteSize: 4096, byteOffset: 0, isWritable: true }, [descriptor])
      closeDescriptor(descriptor)
      const prepare = (id: number): number => client.call(operations.PREPARE, { model: { ...handModel(), pools: [id] } }).header.status
      expect([prepare(1), prepare(20), prepare(21)]).toEqual([0, 0, errorStatus.RESOURCE_EXHAUSTED_TRANSIENT])
      expect(server.holdings().mappings).toBeLessThan(40)
    })
  })

  test('bytes of pools, models, device buffers and their bytes', async () => {
    await using driver = await connectDriver({ path: server.path })
    using model = addModel([1, 2])
    const prepared: PreparedModel[] = []
    const error = await thrownBy(async () => {
      for (let i = 0; i < 100; i++) prepared.push(await driver.prepare(model))
    })
    expect([error.status, prepared.length]).toEqual(['RESOURCE_EXHAUSTED_TRANSIENT', limits.models])
    const buffers: DeviceBuffer[] = []
    const refused = await thrownBy(async () => {
      for (let i = 0; i < 100; i++) buffers.push(await driver.allocate({ roles: [prepared[0]!.input(0)] }))
    })
    expect([refused.status, buffers.length]).toEqual(['RESOURCE_EXHAUSTED_TRANSIENT', limits.buffers])
    for (const buffer of buffers) buffer.close()
    prepared.pop()!.close()
    using large = addModel([5], [0])
    using open = await driver.prepare(large)
    await expectFailure(() => driver.allocate({ roles: [open.input(0)], dimensions: [1025] }), 'RESOURCE_EXHAUSTED_TRANSIENT')
    ;(await driver.allocate({ roles: [open.input(0)], dimensions: [1024] })).close()
  })

  test('memory for intermediate results', async () => {
    await using driver = await connectDriver({ path: server.path })
    using model = buildModel((g) => {
      const type = { type: 'TENSOR_FLOAT32', dimensions: [0, 0] } as const
      const x = g.input('TENSOR_FLOAT32', [0, 1])
      const y = g.input('TENSOR_FLOAT32', [1, 0])
      const z = g.operation('MUL', [x, y, g.scalar('INT32', 0)], type)
      g.output(g.operation('RELU', [z], type))
    })
    using prepared = await driver.prepare(model)
    using pool = createPool(1 << 20)
    const args = { inputs: [pool.tensor(0, 'TENSOR_FLOAT32', [10_000, 1]), pool.tensor(0, 'TENSOR_FLOAT32', [1, 10_000])], outputs: [pool.slice(1 << 19, 1 << 18)] }
    await expectFailure(() => prepared.executeSync(args), 'RESOURCE_EXHAUSTED_TRANSIENT')
  })

  test('the client makes room by itself: unused pools are released', async () => {
    await using driver = await connectDriver({ path: server.path })
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    const pools = Array.from({ length: 100 }, () => createPool(4096))
    for (let round = 0; round < 2; round++) {
      for (const pool of pools) prepared.executeSync({ inputs: [pool.slice(0, 8)], outputs: [pool.slice(64, 8)] })
    }
    for (const pool of pools) {
      expect(floats(pool.read(64, 8))).toEqual([1, 2])
      pool.close()
    }
  })
})

describe('defences 10 and 11: tokens and roles', () => {
  test('tokens of another client, and guesses, have one answer (D31)', async () => {
    await using driver = await connectDriver({ path: server.path })
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    using buffer = await driver.allocate({ roles: [prepared.input(0), prepared.output(0)] })
    using pool = createPool(64)
    await buffer.copyFrom(pool.slice(0, 8))
    const { token } = (buffer.facts.buffer as unknown) as { token: number }
    await attack((client) => {
      const answers = new Set<string>()
      for (let i = -1000; i <= 1000; i++) {
        const { header, body } = client.call(operations.COPY_TO, { token: (token + i) >>> 0, pool: 1, offset: 0, length: 8 })
        answers.add(`${header.status} ${body.field('sentence').string().replace('target', 'buffer')}`)
      }
      expect(answers.size).toBe(1)
    })
    await buffer.copyTo(pool.slice(0, 8))
  })

  test('tokens are not numbered one after another, and never come again', async () => {
    await using driver = await connectDriver({ path: server.path })
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    const tokens: number[] = []
    for (let i = 0; i < 500; i++) {
      using buffer = await driver.allocate({ roles: [prepared.input(0)] })
      tokens.push(((buffer.facts.buffer as unknown) as { token: number }).token)
    }
    expect(new Set(tokens).size).toBe(500)
    expect(tokens.every((token, i) => i === 0 || Math.abs(token - tokens[i - 1]!) > 1)).toBe(true)
  })
})

describe('defences 15 to 17: the protocol', () => {
  test.each([
    ['an unknown operation', (client: RawClient) => client.send(13, {})],
    ['a reply', (client: RawClient) => client.send(operations.HELLO, {}, [], { isReply: true })],
    ['another length', (client: RawClient) => {
      writeHeader(client.socket.sent.view, 41, { operation: operations.CANCEL, id: 1 })
      client.socket.send(HEADER_SIZE, [], 100)
    }],
    ['descriptors that nobody asked for', (client: RawClient) => {
      const descriptor = createSharedMemory(64, 'gift')
      client.send(operations.EXECUTE, encodeBody({}), [descriptor])
      closeDescriptor(descriptor)
    }],
    ['a request to execute that is none', (client: RawClient) => client.send(operations.EXECUTE, new Uint8Array(20))],
    ['noise', (client: RawClient) => {
      client.socket.sent.bytes.fill(0xa5, 0, 1000)
      client.socket.send(1000, [], 100)
    }],
  ])('%s ends the connection', async (_, send) => {
    await attack((client) => {
      send(client)
      expectDisconnected(client)
    })
  })

  test.each([
    ['not MessagePack', Uint8Array.of(0xc1, 1, 2)],
    ['cut off', encodeBody({ model: {} }).subarray(0, 4)],
    ['a number', encodeBody(5)],
    ['nothing of what it should have', encodeBody({})],
    ['a list that says it is long', Uint8Array.of(0xdd, 0xff, 0xff, 0xff, 0xff)],
    ['fields of the wrong kind', encodeBody({ model: { main: [], referenced: {}, operandValues: 'x', pools: 1 } })],
    ['keys of Object.prototype', encodeBody({ model: JSON.parse('{"__proto__": {"main": 1}}') as object })],
    ['a tree as deep as fits', new Uint8Array(60_000).fill(0x91)],
  ])('a body that is %s is refused', async (_, body) => {
    await attack((client) => {
      const { header } = client.call(operations.PREPARE, body)
      expect(header.status).toBe(errorStatus.INVALID_ARGUMENT)
      client.hello()
    })
  })

  test('models that break rules are refused by their number, as validators do', async () => {
    await attack((client) => {
      const model = handModel((m) => (m.main.outputIndexes = [0]))
      const { header, body } = client.call(operations.PREPARE, { model })
      expect([header.status, body.field('rule').string()]).toEqual([errorStatus.INVALID_ARGUMENT, 'M16'])
    })
  })

  test('what is not there: models, pools, buffers', async () => {
    await attack((client) => {
      client.send(operations.RELEASE_POOL, { id: 5 })
      client.send(operations.RELEASE_POOL, { id: 5 })
      client.send(operations.RELEASE_MODEL, { id: 5 })
      client.send(operations.RELEASE_BUFFER, { token: 5 })
      client.send(operations.CANCEL, { id: 5 })
      expect(client.call(operations.COPY_FROM, { token: 5, pool: 1, offset: 0, length: 8, dimensions: [] }).header.status).toBe(errorStatus.INVALID_ARGUMENT)
      expect(client.call(operations.PREPARE, { model: { ...handModel(), pools: [7] } }).header.status).toBe(errorStatus.INVALID_ARGUMENT)
      expect(client.call(operations.ALLOCATE, { models: [0], description: { dimensions: [], inputRoles: [{ modelIndex: 0, ioIndex: 0, frequency: 1 }], outputRoles: [] } }).body.field('rule').string()).toBe('D4')
    })
  })

  test('a client that never reads its answers is disconnected, and others are served meanwhile', async () => {
    await attack(async (client) => {
      const flood = async (): Promise<void> => {
        for (let i = 0; i < 5000; i++) {
          client.send(operations.COPY_TO, { token: 5, pool: 1, offset: 0, length: 8 })
          if (i % 100 === 0) await expectServed()
        }
      }
      await expect(flood()).rejects.toEqual(GONE)
    })
  })

  test('errors of kernels are told without their words', async () => {
    await using driver = await connectDriver({ path: server.path })
    using model = buildModel((g) => g.output(g.operation('FAIL', [g.input('TENSOR_FLOAT32', [2])], { type: 'TENSOR_FLOAT32', dimensions: [2] })))
    using prepared = await driver.prepare(model)
    using pool = createPool(64)
    const error = await expectFailure(() => prepared.executeSync({ inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] }), 'GENERAL_FAILURE')
    expect(error.message).not.toMatch(/secret|0x/)
  })

  test('a connection that never says a word costs nothing', async () => {
    await attack(async () => {
      const silent = Array.from({ length: 30 }, () => new RawClient(server.path))
      await expectServed()
      for (const client of silent) client.close()
    })
  })
})

test('defence 5: bytes that change while they are read', async () => {
  await using driver = await connectDriver({ path: server.path })
  using model = buildModel((g) => {
    const x = g.input('TENSOR_FLOAT32', [8])
    const shape = g.input('TENSOR_INT32', [2])
    g.output(g.operation('RESHAPE', [x, shape], { type: 'TENSOR_FLOAT32', dimensions: [0, 0] }))
  })
  using prepared = await driver.prepare(model)
  using pool = createPool(4096)
  const [good, bad] = [new Int32Array([2, 4]), new Int32Array([2 ** 30, -5])]
  const outcomes = new Set<string>()
  for (let i = 0; i < 2000; i++) {
    pool.write(1024, good)
    const running = prepared.execute({ inputs: [pool.slice(0, 32), pool.slice(1024, 8)], outputs: [pool.slice(2048, 512)] })
    pool.write(1024, i % 2 === 0 ? bad : good)
    outcomes.add(await running.then(({ outputs }) => JSON.stringify(outputs[0]!.dimensions), (error: { status: string }) => error.status))
  }
  for (const outcome of outcomes) expect(['[2,4]', 'INVALID_ARGUMENT']).toContain(outcome)
})
