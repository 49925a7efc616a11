import { mkdtempSync, openSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { buildModel, connectDriver, type DeviceBuffer, type PreparedModel, operandSlice } from '../src/index.ts'
import { createPool, errorStatus, openFilePool } from '@tenon/pools'
import { operations } from '../src/wire/frame.ts'
import { encodeBufferDescription } from '../src/hidl.ts'
import { closeDescriptor, createSharedMemory } from '@tenon/pools/internal'
import { addModel, expectFailure, floats, handModel, thrownBy } from './support.ts'

import { attack, expectDisconnected, limits, server, statusOfPool } from './attack.ts'

describe('descriptors that lie', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-hostile-'))
  afterAll(() => rmSync(directory, { recursive: true }))
  const file = (byteSize: number): number => {
    const path = join(directory, `f${Math.random()}`)
    writeFileSync(path, Buffer.alloc(byteSize))
    return openSync(path, 'r+')
  }
  const memory = (byteSize = 4096): number => createSharedMemory(byteSize, 'hostile')
  const fileToRead = (): string => {
    const path = join(directory, 'readable')
    writeFileSync(path, Buffer.alloc(4096))
    return path
  }
  const imageBytes = encodeBufferDescription({
    width: 64,
    height: 65,
    layers: 1,
    format: 'R8_UNORM',
    usage: 0x33n,
    stride: 64,
  })

  test.each([
    ['an honest pool', () => memory(), {}, 0, undefined],
    ['a byte too many', () => memory(), { byteSize: 4097 }, errorStatus.GENERAL_FAILURE, 'P15'],
    ['a page too many', () => memory(), { byteSize: 8192 }, errorStatus.GENERAL_FAILURE, 'P15'],
    ['no bytes', () => memory(), { byteSize: 0 }, errorStatus.INVALID_ARGUMENT, 'P5'],
    ['2^32 bytes', () => memory(), { byteSize: 2 ** 32 }, errorStatus.INVALID_ARGUMENT, undefined],
    ['2^63 bytes', () => memory(), { byteSize: 2 ** 63 }, errorStatus.INVALID_ARGUMENT, undefined],
    ['a negative size', () => memory(), { byteSize: -1 }, errorStatus.INVALID_ARGUMENT, undefined],
    ['a size that is no number', () => memory(), { byteSize: '4096' }, errorStatus.INVALID_ARGUMENT, undefined],
    [
      'an offset past 2^53',
      () => file(4096),
      { kind: 'file', byteOffset: 2 ** 60 },
      errorStatus.INVALID_ARGUMENT,
      'P7',
    ],
    ['an offset between pages', () => file(8192), { kind: 'file', byteOffset: 100 }, errorStatus.GENERAL_FAILURE, 'P7'],
    [
      'an offset past the end',
      () => file(8192),
      { kind: 'file', byteOffset: 8192 },
      errorStatus.GENERAL_FAILURE,
      'P15',
    ],
    ['an unknown kind', () => memory(), { kind: 'ashmem' }, errorStatus.INVALID_ARGUMENT, 'P1'],
    ['memory that could shrink', () => file(4096), {}, errorStatus.GENERAL_FAILURE, 'P15'],
    ['a device', () => openSync('/dev/zero', 'r+'), {}, errorStatus.GENERAL_FAILURE, 'P15'],
    ['a directory', () => openSync(directory, 'r'), { kind: 'file' }, errorStatus.GENERAL_FAILURE, 'P15'],
    ['procfs', () => openSync('/proc/self/maps', 'r'), { kind: 'file' }, errorStatus.GENERAL_FAILURE, 'P15'],
    [
      'an image with a size',
      () => memory(),
      { kind: 'device-image', byteSize: 64, image: imageBytes },
      errorStatus.INVALID_ARGUMENT,
      'P11',
    ],
    [
      'an image without a description',
      () => memory(),
      { kind: 'device-image', byteSize: 0 },
      errorStatus.INVALID_ARGUMENT,
      'P12',
    ],
    [
      'an image without rows',
      () => memory(),
      { kind: 'device-image', byteSize: 0, image: new Uint8Array(40) },
      errorStatus.INVALID_ARGUMENT,
      'P12',
    ],
    [
      'an image that is larger than its memory',
      () => memory(),
      { kind: 'device-image', byteSize: 0, image: imageBytes },
      errorStatus.GENERAL_FAILURE,
      'P15',
    ],
    [
      'a file to write that was opened for reading',
      () => openSync(fileToRead(), 'r'),
      { kind: 'file' },
      errorStatus.GENERAL_FAILURE,
      'P17',
    ],
    ['a terabyte of nothing', () => memory(2 ** 40), { byteSize: 0xffff_ffff }, 0, undefined],
  ] as const)('%s', async (_, open, said, status, rule) => {
    await attack((client) => {
      const found = statusOfPool(client, open(), said)
      expect(found.status).toBe(status)
      if (rule !== undefined) expect(found.rule).toBe(rule)
    })
  })

  test('a pool without a descriptor, or with two, is refused', async () => {
    for (const count of [0, 2]) {
      await attack((client) => {
        const descriptors = Array.from({ length: count }, () => memory())
        client.send(
          operations.REGISTER_POOL,
          { id: 1, kind: 'shared', byteSize: 4096, byteOffset: 0, isWritable: true },
          descriptors,
        )
        descriptors.forEach(closeDescriptor)
        expectDisconnected(client)
      })
    }
  })

  test('a driver survives a file that is truncated repeatedly while it is read', async () => {
    const path = join(directory, 'flickering')
    writeFileSync(path, Buffer.alloc(1 << 20))
    await using driver = await connectDriver(server.path)
    using model = addModel([1], [0])
    using prepared = await driver.prepare(model)
    using pool = createPool(1 << 20)
    let failures = 0
    for (let i = 0; i < 50; i++) {
      truncateSync(path, 1 << 20)
      using source = openFilePool(path)
      const running = prepared.runAsync({
        inputs: [operandSlice(source, 0, 'TENSOR_FLOAT32', [1 << 18])],
        outputs: [pool.slice(0, 1 << 20)],
      })
      truncateSync(path, 100)
      await running.catch((error: { status: string }) => {
        expect(error.status).toBe('GENERAL_FAILURE')
        failures++
      })
    }
    expect(failures).toBeGreaterThan(0)
  })
})

describe('a client that takes all resources', () => {
  test('10000 pools leave descriptors and mappings at the limit', async () => {
    await attack((client) => {
      const descriptor = createSharedMemory(4096, 'many')
      for (let id = 1; id <= 10_000; id++)
        client.send(operations.REGISTER_POOL, { id, kind: 'shared', byteSize: 4096, byteOffset: 0, isWritable: true }, [
          descriptor,
        ])
      closeDescriptor(descriptor)
      const prepare = (id: number): number =>
        client.call(operations.PREPARE, { model: { ...handModel(), pools: [id] } }).header.status
      expect([prepare(1), prepare(20), prepare(21)]).toEqual([0, 0, errorStatus.RESOURCE_EXHAUSTED_TRANSIENT])
      expect(server.holdings().mappings).toBeLessThan(40)
    })
  })

  test('pools, models and device buffers beyond the limits are refused', async () => {
    await using driver = await connectDriver(server.path)
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
    await expectFailure(
      () => driver.allocate({ roles: [open.input(0)], dimensions: [1025] }),
      'RESOURCE_EXHAUSTED_TRANSIENT',
    )
    ;(await driver.allocate({ roles: [open.input(0)], dimensions: [1024] })).close()
  })

  test('intermediate results beyond the limit are refused', async () => {
    await using driver = await connectDriver(server.path)
    using model = buildModel((g) => {
      const type = { type: 'TENSOR_FLOAT32', dimensions: [0, 0] } as const
      const x = g.input('TENSOR_FLOAT32', [0, 1])
      const y = g.input('TENSOR_FLOAT32', [1, 0])
      const z = g.operation('MUL', [x, y, g.scalar('INT32', 0)], type)
      g.output(g.operation('RELU', [z], type))
    })
    using prepared = await driver.prepare(model)
    using pool = createPool(1 << 20)
    const args = {
      inputs: [
        operandSlice(pool, 0, 'TENSOR_FLOAT32', [10_000, 1]),
        operandSlice(pool, 0, 'TENSOR_FLOAT32', [1, 10_000]),
      ],
      outputs: [pool.slice(1 << 19, 1 << 18)],
    }
    await expectFailure(() => prepared.run(args), 'RESOURCE_EXHAUSTED_TRANSIENT')
  })

  test('a client releases unused pools to make room', async () => {
    await using driver = await connectDriver(server.path)
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    const pools = Array.from({ length: 100 }, () => createPool(4096))
    for (let round = 0; round < 2; round++) {
      for (const pool of pools) prepared.run({ inputs: [pool.slice(0, 8)], outputs: [pool.slice(64, 8)] })
    }
    for (const pool of pools) {
      expect(floats(pool.read(64, 8))).toEqual([1, 2])
      pool.close()
    }
  })
})

test('a driver survives bytes that change while they are read', async () => {
  await using driver = await connectDriver(server.path)
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
    const running = prepared.runAsync({
      inputs: [pool.slice(0, 32), pool.slice(1024, 8)],
      outputs: [pool.slice(2048, 512)],
    })
    pool.write(1024, i % 2 === 0 ? bad : good)
    outcomes.add(
      await running.then(
        ({ outputs }) => JSON.stringify(outputs[0]!.dimensions),
        (error: { status: string }) => error.status,
      ),
    )
  }
  for (const outcome of outcomes) expect(['[2,4]', 'INVALID_ARGUMENT']).toContain(outcome)
})
