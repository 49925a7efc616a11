import { mkdtempSync, openSync, closeSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { buildModel, localDriver, operandTypes, type DeviceBuffer, OMIT } from '../src/index.ts'
import { createFrozenPool, createPool, openFilePool, type Pool } from '@tenon/pools'
import {
  decodeNativeHandle,
  encodeNativeHandle,
  executionFromHidl,
  executionToHidl,
  modelFromHidl,
  modelToHidl,
  poolFromHidl,
  poolToHidl,
  requestFromHidl,
  requestToHidl,
  type HidlMemory,
} from '../src/hidl.ts'
import { addModel, expectFailure, expectNoLeaks, floats } from './support.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-hidl-'))
afterAll(() => rmSync(directory, { recursive: true }))
const file = (byteSize: number): string => {
  const path = join(directory, `file${Math.random()}`)
  writeFileSync(path, Buffer.alloc(byteSize, 3))
  return path
}

describe('native handles', () => {
  test('are decoded as they were encoded', () => {
    for (const handle of [
      { fds: [], ints: [] },
      { fds: [5, 9], ints: [-1, 2 ** 31 - 1, 0] },
    ]) {
      expect(decodeNativeHandle(encodeNativeHandle(handle))).toEqual(handle)
    }
  })

  test.each([
    ['another version', [11, 0, 0]],
    ['no words', []],
    ['a header that is cut off', [12, 1]],
    ['too few words', [12, 1, 1, 5]],
    ['too many words', [12, 0, 0, 1]],
    ['negative counts', [12, -1, 0]],
    ['too many descriptors', [12, 1025, 0, ...Array.from({ length: 1025 }, () => 1)]],
  ])('%s', async (_, words) => {
    await expectFailure(() => decodeNativeHandle(Int32Array.from(words)), 'INVALID_ARGUMENT')
  })
})

describe('memory', () => {
  test('every kind of pool is converted in both directions', async () => {
    await expectNoLeaks(() => {
      using shared = createPool(4096)
      using blob = createPool(4096, { kind: 'device-blob' })
      using frozen = createFrozenPool(new Uint8Array(10))
      using readOnly = openFilePool(file(8192), { byteOffset: 4096 })
      using writable = openFilePool(file(4096), { access: 'read-write' })
      const expected = [
        ['ashmem', 0],
        ['hardware_buffer_blob', 10],
        ['ashmem', 0],
        ['mmap_fd', 3],
        ['mmap_fd', 3],
      ]
      const pools: Pool[] = [shared, blob, frozen, readOnly, writable]
      pools.forEach((pool, i) => {
        const memory = poolToHidl(pool)
        expect([memory.name, memory.handle!.ints.length]).toEqual(expected[i])
        using again = poolFromHidl(memory)
        expect([again.kind, again.rights, again.byteSize, again.identity, again.identityOffset]).toEqual([
          pool.kind,
          pool.rights,
          pool.byteSize,
          pool.identity,
          pool.identityOffset,
        ])
        expect(again.read(0)).toEqual(pool.read(0))
      })
    })
  })

  test('the offset of a file consists of two ints', async () => {
    const descriptor = openSync(file(8192), 'r')
    using pool = poolFromHidl({ name: 'mmap_fd', handle: { fds: [descriptor], ints: [1, 4096, 0] }, size: 4096 })
    expect(pool.identityOffset).toBe(4096)
    await expectFailure(
      () => poolFromHidl({ name: 'mmap_fd', handle: { fds: [descriptor], ints: [1, 0, 1] }, size: 1 }),
      'GENERAL_FAILURE',
      'P15',
    )
    await expectFailure(
      () => poolFromHidl({ name: 'mmap_fd', handle: { fds: [descriptor], ints: [1, -4096, 0] }, size: 1 }),
      'GENERAL_FAILURE',
      'P15',
    )
    closeSync(descriptor)
  })

  const bad: readonly (readonly [
    rule: string,
    what: string,
    status: string,
    change: (memory: HidlMemory) => HidlMemory,
  ])[] = [
    ['P1', 'an unknown name', 'INVALID_ARGUMENT', (m) => ({ ...m, name: 'memfd' })],
    ['P1', 'an empty name', 'INVALID_ARGUMENT', (m) => ({ ...m, name: '' })],
    ['P2', 'no handle', 'INVALID_ARGUMENT', (m) => ({ ...m, handle: null })],
    ['P3', 'ashmem with an int', 'GENERAL_FAILURE', (m) => ({ ...m, handle: { fds: m.handle!.fds, ints: [1] } })],
    ['P3', 'ashmem without a descriptor', 'GENERAL_FAILURE', (m) => ({ ...m, handle: { fds: [], ints: [] } })],
    ['P3', 'ashmem with two', 'GENERAL_FAILURE', (m) => ({ ...m, handle: { fds: [...m.handle!.fds, 0], ints: [] } })],
    ['P4', 'mmap_fd without ints', 'GENERAL_FAILURE', (m) => ({ ...m, name: 'mmap_fd' })],
    [
      'P4',
      'mmap_fd with two ints',
      'GENERAL_FAILURE',
      (m) => ({ ...m, name: 'mmap_fd', handle: { fds: m.handle!.fds, ints: [1, 0] } }),
    ],
    ['P5', 'no bytes', 'INVALID_ARGUMENT', (m) => ({ ...m, size: 0 })],
    [
      'P6',
      'a protection that nobody knows',
      'INVALID_ARGUMENT',
      (m) => ({ ...m, name: 'mmap_fd', handle: { fds: m.handle!.fds, ints: [4, 0, 0] } }),
    ],
    [
      'P6',
      'no protection',
      'INVALID_ARGUMENT',
      (m) => ({ ...m, name: 'mmap_fd', handle: { fds: m.handle!.fds, ints: [0, 0, 0] } }),
    ],
    ['P8', 'a descriptor of -1', 'GENERAL_FAILURE', (m) => ({ ...m, handle: { fds: [-1], ints: [] } })],
    ['P9', 'a negative size', 'INVALID_ARGUMENT', (m) => ({ ...m, size: -1 })],
    ['P9', '2^32 bytes', 'INVALID_ARGUMENT', (m) => ({ ...m, size: 2 ** 32 })],
    [
      'P10',
      'a blob with ints',
      'GENERAL_FAILURE',
      (m) => ({ ...m, name: 'hardware_buffer_blob', handle: { fds: m.handle!.fds, ints: [1] } }),
    ],
    ['P11', 'an image', 'GENERAL_FAILURE', (m) => ({ ...m, name: 'hardware_buffer', size: 0 })],
    ['P15', 'a byte too many', 'GENERAL_FAILURE', (m) => ({ ...m, size: 4097 })],
  ]

  test.each(bad)('%s refuses %s', async (rule, _, status, change) => {
    await expectNoLeaks(async () => {
      using pool = createPool(4096)
      await expectFailure(() => poolFromHidl(change(poolToHidl(pool))), status, rule)
    })
  })
})

describe('models and requests', () => {
  test('a model and a request are converted in both directions, and executed', async () => {
    await using driver = localDriver()
    using model = addModel(Array.from({ length: 50 }, (_, i) => i))
    const there = modelToHidl(model)
    expect(
      there.main.operands.map(({ type, lifetime, numberOfConsumers }) => [type, lifetime, numberOfConsumers]),
    ).toEqual([
      [operandTypes.TENSOR_FLOAT32.number, 1, 1],
      [operandTypes.TENSOR_FLOAT32.number, 4, 1],
      [operandTypes.INT32.number, 3, 1],
      [operandTypes.TENSOR_FLOAT32.number, 2, 0],
    ])
    using constants = poolFromHidl(there.pools[0]!)
    const back = modelFromHidl(there, [constants])
    expect({ ...back, pools: [] }).toEqual({
      main: model.main,
      referenced: [],
      operandValues: model.operandValues,
      pools: [],
      relaxed: false,
    })
    using prepared = await driver.prepare(back)
    using pool = createPool(4096)
    const at = (offset: number) => ({
      hasNoValue: false,
      location: { poolIndex: 0, offset, length: 200, padding: 0 },
      dimensions: [],
    })
    const request = requestToHidl({ inputs: [at(0)], outputs: [at(1024)], pools: [pool] })
    using same = poolFromHidl(request.pools[0]!)
    prepared.run(requestFromHidl(request, [same]))
    expect(floats(pool.read(1024, 200))).toEqual(Array.from({ length: 50 }, (_, i) => i))
    prepared.close()
  })

  test('scales of channels and relaxed computation are converted, and parameters of extensions are refused', async () => {
    const channelQuant = { scales: [0.5, 0.25], channelDim: 0 }
    using model = buildModel(
      (g) => {
        const x = g.input('TENSOR_QUANT8_SYMM_PER_CHANNEL', [2, 3], { channelQuant })
        g.output(g.operation('DEQUANTIZE', [x], { type: 'TENSOR_FLOAT32', dimensions: [2, 3] }))
      },
      { relaxed: true },
    )
    const there = modelToHidl(model)
    expect(there.relaxComputationFloat32toFloat16).toBe(true)
    expect(there.main.operands.map(({ extraParams }) => extraParams)).toEqual([{ channelQuant }, { none: null }])
    expect(modelFromHidl(there, [])).toMatchObject({ main: model.main, relaxed: true })
    const operands = there.main.operands.map((one) => ({ ...one, extraParams: { extension: new Uint8Array(4) } }))
    const attempt = () => modelFromHidl({ ...there, main: { ...there.main, operands } }, [])
    await expectFailure(attempt, 'INVALID_ARGUMENT', 'M18')
  })

  test('a request of HAL 1.3 with memory and tokens is converted in both directions', async () => {
    await expectNoLeaks(async () => {
      await using driver = localDriver()
      using model = addModel([1, 2])
      using prepared = await driver.prepare(model)
      using buffer = await driver.allocate({ roles: [prepared.input(0)] })
      using pool = createPool(64)
      await buffer.copyFrom(pool.slice(0, 8))
      const args = { inputs: [buffer], outputs: [pool.slice(16, 8, { dimensions: [2] })] }
      const request = executionToHidl(args, () => 77)
      expect(request.pools.map((one) => ('token' in one ? one.token : one.hidlMemory.name))).toEqual([77, 'ashmem'])
      expect(request.outputs).toEqual([
        { hasNoValue: false, location: { poolIndex: 1, offset: 16, length: 8 }, dimensions: [2] },
      ])
      const opened: Pool[] = []
      const find = (one: (typeof request.pools)[number]): Pool | DeviceBuffer =>
        'token' in one ? buffer : (opened.push(poolFromHidl(one.hidlMemory)), opened[0]!)
      prepared.run(executionFromHidl(request, find))
      expect(floats(pool.read(16, 8))).toEqual([1, 2])
      for (const one of opened) one.close()
      const omitted = executionToHidl({ inputs: [OMIT], outputs: [] }, () => 1)
      expect(executionFromHidl(omitted, find)).toEqual({ inputs: [OMIT], outputs: [] })
      await expectFailure(() => executionToHidl(args, () => 0), 'INVALID_ARGUMENT', 'Q11')
      const padded = { inputs: [pool.slice(0, 8, { padding: 8 })], outputs: [] }
      await expectFailure(() => executionToHidl(padded, () => 1), 'INVALID_ARGUMENT', 'Q4')
      const ask =
        (location: object, token = 5) =>
        () =>
          executionFromHidl(
            {
              inputs: [
                { hasNoValue: false, location: { poolIndex: 0, offset: 0, length: 0, ...location }, dimensions: [] },
              ],
              outputs: [],
              pools: [{ token }, { token: 6 }],
            },
            (one) => ('token' in one && one.token === 6 ? pool : buffer),
          )
      await expectFailure(ask({}, 0), 'INVALID_ARGUMENT', 'Q11')
      await expectFailure(ask({ poolIndex: 2 }), 'INVALID_ARGUMENT', 'Q3')
      await expectFailure(ask({ length: 8 }), 'INVALID_ARGUMENT', 'Q4')
      await expectFailure(ask({ poolIndex: 1, offset: 60, length: 8 }), 'INVALID_ARGUMENT', 'Q4')
    })
  })

  test('unknown numbers are refused', async () => {
    using model = addModel([1, 2])
    const there = modelToHidl(model)
    const attempt = (main: Partial<typeof there.main>) => () =>
      modelFromHidl({ ...there, main: { ...there.main, ...main } }, [])
    const [first, ...others] = there.main.operands
    await expectFailure(attempt({ operands: [{ ...first!, type: 999 }, ...others] }), 'INVALID_ARGUMENT', 'M2')
    await expectFailure(attempt({ operands: [{ ...first!, lifetime: 7 }, ...others] }), 'INVALID_ARGUMENT', 'M2')
    await expectFailure(
      attempt({ operands: [{ ...first!, numberOfConsumers: 2 }, ...others] }),
      'INVALID_ARGUMENT',
      'M17',
    )
    await expectFailure(attempt({ operations: [{ type: 999, inputs: [0], outputs: [3] }] }), 'INVALID_ARGUMENT', 'M19')
  })
})
