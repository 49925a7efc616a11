import { spawnSync } from 'node:child_process'
import { mkdtempSync, promises, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { quarantine } from '@tenon/config/sanitizer'
import koffi from 'koffi'
import { afterAll, describe, expect, test } from 'vitest'
import { buildModel, connectDriver, type DeviceBuffer, operandSlice } from '../src/index.ts'
import { createPool, errorStatus, openFilePool, type PoolSlice, type PoolsError } from '@tenon/pools'
import { string } from '../src/wire/body.ts'
import { operations } from '../src/wire/frame.ts'
import { closeDescriptor, createSharedMemory } from '@tenon/pools/internal'
import { argument } from './request-cases.ts'
import { attack, begin, execute, expectServed, launch, server, statusOfPool } from './attack.ts'
import { canMount, SilentFileSystem } from './fuse.ts'
import { Server } from './server.ts'
import { addModel, expectFailure, facts, floats, handModel, thrownBy } from './support.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-defences-'))
afterAll(() => rmSync(directory, { recursive: true }))

const libc = koffi.load('libc.so.6')
const memfdCreate = libc.func('int memfd_create(const char *name, unsigned int flags)')
const truncate = libc.func('int ftruncate(int descriptor, int64_t size)')
const control = libc.func('int fcntl(int descriptor, int command, ...)')

test('a file that is truncated while models are prepared, run, and copied from', async () => {
  const path = join(directory, 'flickering')
  const size = 1 << 20
  writeFileSync(path, Buffer.alloc(size))
  await using own = await Server.start()
  await using driver = await connectDriver(own.path)
  using adding = addModel([1], [0])
  using prepared = await driver.prepare(adding)
  using same = addModel(Array.from({ length: size / 4 }, () => 0))
  using exact = await driver.prepare(same)
  using buffer = await driver.allocate({ roles: [exact.input(0)] })
  using pool = createPool(size)
  const outcomes: string[] = []
  for (let i = 0; i < 30; i++) {
    truncateSync(path, size)
    using file = openFilePool(path, { access: 'read-write' })
    const whole = file.slice(0, size)
    using model = buildModel((g) => {
      const x = g.input('TENSOR_FLOAT32', [size / 4])
      const y = g.constant('TENSOR_FLOAT32', [size / 4], whole)
      g.output(g.operation('ADD', [x, y, g.scalar('INT32', 0)], { type: 'TENSOR_FLOAT32', dimensions: [size / 4] }))
    })
    const attempts: (() => Promise<unknown>)[] = [
      async () => (await driver.prepare(model)).close(),
      () =>
        prepared.runAsync({
          inputs: [operandSlice(file, 0, 'TENSOR_FLOAT32', [size / 4])],
          outputs: [pool.slice(0, size)],
        }),
      () => buffer.copyFrom(whole),
    ]
    const running = attempts[i % 3]!().then(
      () => 'NONE',
      (error: PoolsError) => error.status,
    )
    truncateSync(path, 100)
    outcomes.push(await running)
  }
  expect(new Set(outcomes).size).toBeLessThanOrEqual(2)
  for (const outcome of outcomes) expect(['NONE', 'GENERAL_FAILURE']).toContain(outcome)
  expect(outcomes).toContain('GENERAL_FAILURE')
  expect(own.isRunning).toBe(true)
})

describe('sizes that are only a promise', () => {
  test('memory of huge pages is refused, because it faults although it is sealed', async () => {
    const [closeOnExec, sealable, huge, addSeals, shrink] = [1, 2, 4, 1033, 2]
    const descriptor = memfdCreate('huge', closeOnExec | sealable | huge) as number
    // A kernel without such pages can't be asked for them.
    if (descriptor < 0) return
    expect([truncate(descriptor, 2 << 20), control(descriptor, addSeals, 'int', shrink)]).toEqual([0, 0])
    await attack((client) => {
      const found = statusOfPool(client, descriptor, { byteSize: 4096 })
      expect(found).toEqual({ status: errorStatus.GENERAL_FAILURE, rule: 'P15' })
    })
  })

  if (process.getuid!() === 0)
    test('a sparse file that is larger than its file system fails the execution', async () => {
      const mounted = mkdtempSync(join(tmpdir(), 'tenon-small-'))
      expect(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tenon', mounted]).status).toBe(0)
      try {
        const path = join(mounted, 'sparse')
        writeFileSync(path, '')
        truncateSync(path, 8 << 20)
        await using driver = await connectDriver(server.path)
        using model = addModel([1], [0])
        using prepared = await driver.prepare(model)
        using file = openFilePool(path, { access: 'read-write' })
        using pool = createPool(8 << 20)
        const half = (4 << 20) / 4
        await expectFailure(
          () =>
            prepared.runAsync({
              inputs: [operandSlice(pool, 0, 'TENSOR_FLOAT32', [half])],
              outputs: [file.slice(4 << 20, 4 << 20)],
            }),
          'GENERAL_FAILURE',
          'P15',
        )
      } finally {
        spawnSync('umount', ['-l', mounted])
        rmSync(mounted, { recursive: true, force: true })
      }
    })
})

test('offsets and lengths of every size are judged as exact arithmetic does', async () => {
  await attack((client) => {
    begin(client, 2)
    const edges = [0, 1, 4, 15, 16, 4079, 4080, 4081, 4096, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 16, 2 ** 32 - 1]
    for (const offset of edges) {
      for (const length of [0, 15, 16, 17, 2 ** 32 - 1]) {
        for (const padding of [0, 1, 4064, 2 ** 32 - 1]) {
          const request = {
            inputs: [argument({ location: { offset, length, padding } })],
            outputs: [argument({ location: { poolIndex: 1 } })],
            pools: [facts(), facts({ identity: '2:2' })],
          }
          const fits = BigInt(offset) + BigInt(length) + BigInt(padding) <= 4096n && length === 16
          expect(execute(client, request, [1, 2])).toBe(fits ? 0 : errorStatus.INVALID_ARGUMENT)
        }
      }
    }
  })
})

if (canMount)
  test('a file whose file system never answers', async () => {
    const silent = new SilentFileSystem()
    try {
      // Not with openSync: who answers is this thread.
      const file = await promises.open(silent.path, 'r')
      silent.silence()
      await attack((client) => {
        for (const kind of ['file', 'shared', 'device-blob', 'device-image']) {
          client.send(
            operations.REGISTER_POOL,
            { id: 1, kind, byteSize: kind === 'device-image' ? 0 : 4096, byteOffset: 0, isWritable: false },
            [file.fd],
          )
          const { header } = client.call(operations.PREPARE, { model: { ...handModel(), pools: [1] } })
          expect([kind, header.status !== 0]).toEqual([kind, true])
          client.send(operations.RELEASE_POOL, { id: 1 })
        }
      })
      // As what the driver would ring, or signal.
      await attack((client) => {
        begin(client, 1)
        expect(launch(client, 1, [file.fd])).toBe(0)
        expect(client.call(operations.FENCED_INFO, { id: 1 }).header.status).toBe(0)
        client.call(operations.HELLO, {}, [file.fd])
      })
      // With messages that are none.
      await attack((client) => client.send(operations.EXECUTE, new Uint8Array(3), [file.fd]))
      await expectServed()
      // Closing asks the file system as well.
      const closing = file.close().catch(() => {})
      silent.close()
      await closing
    } finally {
      silent.close()
    }
  })

test('requests are refused before memory is touched', async () => {
  const before = server.residentBytes()
  await attack((client) => {
    begin(client, 1)
    for (let id = 10; id < 15; id++) {
      const descriptor = createSharedMemory(2 ** 40, 'terabyte')
      const said = { id, kind: 'shared', byteSize: 2 ** 32 - 1, byteOffset: 0, isWritable: true }
      client.send(operations.REGISTER_POOL, said, [descriptor])
      closeDescriptor(descriptor)
    }
    const role = { modelIndex: 0, ioIndex: 0, frequency: 1 }
    const description = { dimensions: [], inputRoles: [role], outputRoles: [] }
    const statuses = new Set<number>()
    for (let i = 0; i < 2000; i++)
      statuses.add(client.call(operations.ALLOCATE, { models: [1], description }).header.status)
    expect([...statuses]).toEqual([0, errorStatus.RESOURCE_EXHAUSTED_TRANSIENT])
  })
  // A garbage collector may lag by some of what messages took.
  expect(server.residentBytes() - before).toBeLessThan((64 << 20) + quarantine)
})

test('unknown tokens and indices are refused', async () => {
  await attack((client) => {
    begin(client, 1)
    const whole = { poolIndex: 0, offset: 0, length: 0, padding: 0 }
    const request = {
      inputs: [{ hasNoValue: false, location: whole, dimensions: [] }],
      outputs: [{ hasNoValue: false, location: whole, dimensions: [] }],
      pools: [facts({ kind: 'token', byteSize: 0 })],
    }
    for (const token of [0, 1, 2 ** 31, 2 ** 32 - 1])
      expect(execute(client, request, [token], true)).toBe(errorStatus.INVALID_ARGUMENT)
    const role = { modelIndex: 0, ioIndex: 0, frequency: 1 }
    const ruleOf = (description: object): string =>
      string(
        client
          .call(operations.ALLOCATE, {
            models: [1],
            description: { dimensions: [], inputRoles: [], outputRoles: [], ...description },
          })
          .body.field('rule'),
      )
    expect(ruleOf({})).toBe('D2')
    expect(ruleOf({ inputRoles: [{ ...role, modelIndex: 1 }] })).toBe('D3')
    expect(ruleOf({ outputRoles: [{ ...role, modelIndex: 2 ** 32 - 1 }] })).toBe('D3')
  })
})

test('a device buffer never fits the models that come after its own', async () => {
  await using driver = await connectDriver(server.path)
  using model = addModel([1, 2])
  using pool = createPool(64)
  let buffer: DeviceBuffer
  {
    using first = await driver.prepare(model)
    buffer = await driver.allocate({ roles: [first.input(0)] })
    await buffer.copyFrom(pool.slice(0, 8))
  }
  for (let i = 0; i < 1000; i++) {
    using next = await driver.prepare(model)
    await expectFailure(() => next.run({ inputs: [buffer], outputs: [pool.slice(8, 8)] }), 'INVALID_ARGUMENT', 'D31')
  }
  await buffer.copyTo(pool.slice(16, 8))
  buffer.close()
})

test('closing at any point of a request is safe', async () => {
  await using driver = await connectDriver(server.path)
  using model = addModel([1, 2])
  for (let gap = 0; gap < 12; gap++) {
    const prepared = await driver.prepare(model)
    const pool = createPool(64)
    const running = prepared.runAsync({ inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] })
    for (let i = 0; i < gap; i++) await Promise.resolve()
    const attempts = [pool, prepared].map((one) => {
      try {
        one.close()
        return 'closed'
      } catch (error) {
        return (error as Error).name
      }
    })
    for (const attempt of attempts) expect(['closed', 'ScopeHeldError']).toContain(attempt)
    await running
    expect(floats(createCopy(pool))).toEqual([1, 2])
    for (const one of [pool, prepared]) one[Symbol.dispose]()
    for (const one of [pool, prepared]) one[Symbol.dispose]()
  }

  /** What the execution wrote, unless the pool was closed since. */
  function createCopy(pool: ReturnType<typeof createPool>): Uint8Array {
    return pool.isAlive ? pool.read(8, 8) : new Uint8Array(new Float32Array([1, 2]).buffer)
  }
})

describe('what one client leaves, no other reads', () => {
  test('new device buffers have no value, and their memory is zeroed', async () => {
    using model = addModel([1, 2])
    using pool = createPool(4096)
    pool.write(0, new Uint8Array(4096).fill(0xee))
    {
      await using first = await connectDriver(server.path)
      using prepared = await first.prepare(model)
      for (let i = 0; i < 5; i++) {
        using buffer = await first.allocate({ roles: [prepared.input(0)] })
        await buffer.copyFrom(pool.slice(0, 8))
      }
    }
    await using second = await connectDriver(server.path)
    using prepared = await second.prepare(model)
    using buffer = await second.allocate({ roles: [prepared.input(0)] })
    await expectFailure(() => buffer.copyTo(pool.slice(64, 8)), 'GENERAL_FAILURE', 'D25')
  })

  test('an execution writes no byte beyond its result, also when the result is copied', async () => {
    await using driver = await connectDriver(server.path)
    using open = addModel([1], [0])
    using prepared = await driver.prepare(open)
    using pool = createPool(4096)
    for (const at of [1024, 1025]) {
      pool.write(1024, new Uint8Array(256).fill(0xcc))
      prepared.run({ inputs: [operandSlice(pool, 0, 'TENSOR_FLOAT32', [3])], outputs: [pool.slice(at, 200)] })
      expect(new Set(pool.read(at + 12, 1280 - at - 12))).toEqual(new Set([0xcc]))
    }
  })

  test('errors name no address, descriptor, token, path or pool', async () => {
    await using driver = await connectDriver(server.path)
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    using pool = createPool(64, { label: 'secret-label' })
    using buffer = await driver.allocate({ roles: [prepared.input(0)] })
    const path = join(directory, 'secret-file')
    writeFileSync(path, Buffer.alloc(8192))
    using file = openFilePool(path)
    truncateSync(path, 10)
    const input = pool.slice(0, 8)
    const attempts: (() => unknown)[] = [
      () => prepared.run({ inputs: [buffer], outputs: [input] }),
      () => prepared.run({ inputs: [input], outputs: [buffer as never] }),
      () => prepared.run({ inputs: [file.slice(4096, 8) as PoolSlice], outputs: [input] }),
      () => prepared.run({ inputs: [input], outputs: [pool.slice(4, 8)] }),
      () => buffer.copyTo(input),
      () => buffer.copyFrom(pool.slice(0, 4)),
      () => driver.allocate({ roles: [prepared.input(5)] }),
    ]
    for (const attempt of attempts) {
      const { sentence } = await thrownBy(attempt)
      expect(sentence).not.toMatch(/0x|secret|\/tmp|memfd|\d{6,}|fd \d|undefined|NaN/)
    }
  })
})

describe('outputs where nothing may be written', () => {
  test('outputs over inputs, constants and each other are refused, also through another descriptor of the same memory', async () => {
    await attack((client) => {
      begin(client, 1)
      const descriptor = createSharedMemory(4096, 'twice')
      const said = { kind: 'shared', byteSize: 4096, byteOffset: 0, isWritable: true }
      for (const id of [2, 3]) client.send(operations.REGISTER_POOL, { ...said, id }, [descriptor])
      closeDescriptor(descriptor)
      const request = (offset: number) => ({
        inputs: [argument()],
        outputs: [argument({ location: { poolIndex: 1, offset } })],
        pools: [facts(), facts({ identity: 'other' })],
      })
      expect(execute(client, request(8), [2, 3])).toBe(errorStatus.INVALID_ARGUMENT)
      expect(execute(client, request(16), [2, 3])).toBe(0)
    })
  })

  test('outputs in frozen and read-only memory are refused', async () => {
    for (const seal of [8, 16]) {
      await attack((client) => {
        begin(client, 1)
        const descriptor = createSharedMemory(4096, 'cold')
        expect(control(descriptor, 1033, 'int', seal)).toBe(0)
        const said = { id: 2, kind: 'shared', byteSize: 4096, byteOffset: 0, isWritable: true }
        client.send(operations.REGISTER_POOL, said, [descriptor])
        closeDescriptor(descriptor)
        const request = {
          inputs: [argument()],
          outputs: [argument({ location: { poolIndex: 1 } })],
          pools: [facts(), facts({ identity: 'other' })],
        }
        expect(execute(client, request, [1, 2])).toBe(errorStatus.INVALID_ARGUMENT)
      })
    }
  })
})
