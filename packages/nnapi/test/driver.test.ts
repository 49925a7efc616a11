import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ArgumentError, ScopeClosedError, ScopeHeldError } from '@tenon/core'
import { buildModel, type Driver, OMIT, operandSlice } from '../src/index.ts'
import {
  createFrozenPool,
  createPool,
  freezePool,
  openFilePool,
  type Pool,
  type PoolSlice,
  shareReadOnly,
} from '@tenon/pools'
import { addModel, expectFailure, expectNoLeaks, floats, hasFiles, homes, settled, thrownBy } from './support.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-driver-'))
afterAll(() => rmSync(directory, { recursive: true }))

describe.each(homes)('a driver %s', (where, start) => {
  let driver: Driver
  beforeAll(async () => {
    driver = await start()
  })
  afterAll(() => driver.closeAsync())
  beforeEach(() => settled(driver))

  const slices = (pool: Pool<'writable'>, size = 4) => ({
    inputs: [operandSlice(pool, 0, 'TENSOR_FLOAT32', [size])],
    outputs: [operandSlice(pool, 1024, 'TENSOR_FLOAT32', [size])],
  })

  test('executes with run() and runAsync()', async () => {
    await expectNoLeaks(async () => {
      using model = addModel([10, 20, 30, 40])
      using prepared = await driver.prepare(model)
      using pool = createPool(4096)
      pool.write(0, new Float32Array([1, 2, 3, 4]))
      const result = prepared.run(slices(pool))
      expect(result.outputs).toEqual([{ dimensions: [4], isSufficient: true }])
      expect(result.driverTime).toBeGreaterThan(0)
      expect(floats(pool.read(1024, 16))).toEqual([11, 22, 33, 44])
      pool.write(0, new Float32Array([5, 6, 7, 8]))
      await prepared.runAsync(slices(pool))
      expect(floats(pool.read(1024, 16))).toEqual([15, 26, 37, 48])
    })
  })

  test('driverTime is the time that the driver measured', async () => {
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    using pool = createPool(4096)
    const before = performance.now()
    const { driverTime } = prepared.run(slices(pool, 2))
    expect(driverTime).toBeGreaterThan(0)
    expect(driverTime).toBeLessThan((performance.now() - before) * 1e6)
  })

  test('many executions in flight all succeed', async () => {
    using model = addModel([1, 1])
    using prepared = await driver.prepare(model)
    using pool = createPool(64 * 64)
    const runs = Array.from({ length: 50 }, async (_unused, i) => {
      pool.write(i * 64, new Float32Array([i, -i]))
      await prepared.runAsync({
        inputs: [operandSlice(pool, i * 64, 'TENSOR_FLOAT32', [2])],
        outputs: [operandSlice(pool, i * 64 + 16, 'TENSOR_FLOAT32', [2])],
      })
      expect(floats(pool.read(i * 64 + 16, 8))).toEqual([i + 1, 1 - i])
    })
    await Promise.all(runs)
  })

  test('values between elements are copied', async () => {
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    using pool = createPool(64)
    pool.write(3, new Float32Array([7, 8]))
    prepared.run({ inputs: [pool.slice(3, 8)], outputs: [pool.slice(33, 8)] })
    expect(floats(pool.read(33, 8))).toEqual([8, 10])
  })

  test('constants in frozen pools are used in place, and others are copied', async () => {
    await expectNoLeaks(async () => {
      using writable = createPool(64)
      writable.write(0, new Float32Array([1, 2]))
      using frozen = createFrozenPool(new Float32Array([0, 10, 20]))
      const path = join(directory, 'weights')
      writeFileSync(path, new Float32Array([100, 200]))
      using file = hasFiles ? openFilePool(path) : createFrozenPool(new Float32Array([100, 200]))
      using model = buildModel((g) => {
        const type = { type: 'TENSOR_FLOAT32', dimensions: [2] } as const
        const none = g.scalar('INT32', 0)
        const x = g.input('TENSOR_FLOAT32', [2])
        const a = g.operation('ADD', [x, g.constant('TENSOR_FLOAT32', [2], writable.slice(0, 8)), none], type)
        const b = g.operation('ADD', [a, g.constant('TENSOR_FLOAT32', [2], frozen.slice(4, 8)), none], type)
        g.output(g.operation('ADD', [b, g.constant('TENSOR_FLOAT32', [2], file.slice(0, 8)), none], type))
      })
      using prepared = await driver.prepare(model)
      writable.write(0, new Float32Array([9, 9]))
      using pool = createPool(4096)
      prepared.run(slices(pool, 2))
      expect(floats(pool.read(1024, 8))).toEqual([111, 222])
      expect(() => frozen.close()).toThrow(ScopeHeldError)
    })
  })

  test('large constants are sent in a pool', async () => {
    await expectNoLeaks(async () => {
      const values = Array.from({ length: 1000 }, (_unused, i) => i)
      using model = addModel(values)
      expect([model.operandValues.length, model.pools.length]).toEqual([4, 1])
      using prepared = await driver.prepare(model)
      using pool = createPool(8192)
      prepared.run({ inputs: [pool.slice(0, 4000)], outputs: [pool.slice(4096, 4000)] })
      expect(floats(pool.read(4096, 4000))).toEqual(values)
    })
  })

  test('a model larger than a message is sent in memory', async () => {
    await expectNoLeaks(async () => {
      using model = buildModel((g) => {
        let x = g.input('TENSOR_FLOAT32', [2])
        const [one, none] = [g.constant('TENSOR_FLOAT32', [2], [1, 1]), g.scalar('INT32', 0)]
        for (let i = 0; i < 600; i++)
          x = g.operation('ADD', [x, one, none], { type: 'TENSOR_FLOAT32', dimensions: [2] })
        g.output(x)
      })
      using prepared = await driver.prepare(model)
      using pool = createPool(4096)
      prepared.run(slices(pool, 2))
      expect(floats(pool.read(1024, 8))).toEqual([600, 600])
    })
  })

  test('requests settle the open dimensions of a model', async () => {
    using model = addModel([5], [0])
    using prepared = await driver.prepare(model)
    using pool = createPool(4096)
    for (const size of [1, 7, 100]) {
      const result = prepared.run({
        inputs: [operandSlice(pool, 0, 'TENSOR_FLOAT32', [size])],
        outputs: [pool.slice(1024, 1024)],
      })
      expect(result.outputs[0]!.dimensions).toEqual([size])
      expect(floats(pool.read(1024, 4 * size))).toEqual(Array.from({ length: size }, () => 5))
    }
  })

  test('an output without enough memory fails with the needed shapes', async () => {
    using model = addModel([5], [0])
    using prepared = await driver.prepare(model)
    using pool = createPool(4096)
    const args = { inputs: [operandSlice(pool, 0, 'TENSOR_FLOAT32', [10])], outputs: [pool.slice(1024, 39)] }
    const error = await expectFailure(() => prepared.run(args), 'OUTPUT_INSUFFICIENT_SIZE', 'Q14')
    expect(error.outputShapes).toEqual([{ dimensions: [10], isSufficient: false }])
    expect(pool.read(1024).every((byte) => byte === 0)).toBe(true)
  })

  test('bytes beyond the value are not written', async () => {
    using model = addModel([5], [0])
    using prepared = await driver.prepare(model)
    using pool = createPool(256)
    pool.write(0, new Uint8Array(256).fill(0xee))
    prepared.run({
      inputs: [operandSlice(pool, 0, 'TENSOR_FLOAT32', [4])],
      outputs: [pool.slice(64, 100, { padding: 28 })],
    })
    expect(pool.read(80, 112).every((byte) => byte === 0xee)).toBe(true)
  })

  test('canonical requests are checked by the driver itself', async () => {
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    using pool = createPool(4096)
    const at = (offset: number, length = 8, poolIndex = 0) => ({
      hasNoValue: false,
      location: { poolIndex, offset, length, padding: 0 },
      dimensions: [],
    })
    const attempt = (input: ReturnType<typeof at>, output: ReturnType<typeof at>) => () =>
      prepared.run({ inputs: [input], outputs: [output], pools: [pool] })
    await expectFailure(() => prepared.run({ inputs: [], outputs: [at(0)], pools: [pool] }), 'INVALID_ARGUMENT', 'Q1')
    await expectFailure(attempt(at(0, 8, 1), at(64)), 'INVALID_ARGUMENT', 'Q3')
    await expectFailure(attempt(at(4092), at(64)), 'INVALID_ARGUMENT', 'Q4')
    await expectFailure(attempt(at(0xffff_fffc), at(64)), 'INVALID_ARGUMENT', 'Q4')
    await expectFailure(attempt(at(0, 0), at(64)), 'INVALID_ARGUMENT', 'Q5')
    await expectFailure(attempt(at(0, 4), at(64)), 'INVALID_ARGUMENT', 'Q8')
    const error = await expectFailure(attempt(at(0), at(4)), 'INVALID_ARGUMENT', 'Q10')
    expect(error.path).toBe('outputs[0]')
    attempt(at(0), at(64))()
  })

  test('outputs in memory that is not writable are refused', async () => {
    await expectNoLeaks(async () => {
      using model = addModel([1, 2])
      using prepared = await driver.prepare(model)
      using pool = createPool(4096)
      using frozen = createFrozenPool(new Uint8Array(4096))
      using owner = createPool(4096)
      using reader = shareReadOnly(owner)
      for (const other of [frozen, reader]) {
        const args = { inputs: [pool.slice(0, 8)], outputs: [other.slice(64, 8) as never] }
        await expectFailure(() => prepared.run(args), 'INVALID_ARGUMENT', 'P18')
      }
      prepared.run({ inputs: [reader.slice(0, 8)], outputs: [pool.slice(64, 8)] })
      expect(floats(pool.read(64, 8))).toEqual([1, 2])
    })
  })

  if (hasFiles)
    test('overlaps are detected across pools of the same memory', async () => {
      using model = addModel([1, 2])
      using prepared = await driver.prepare(model)
      const path = join(directory, 'twice')
      writeFileSync(path, Buffer.alloc(8192))
      using whole = openFilePool(path, { access: 'read-write' })
      using second = openFilePool(path, { byteOffset: 4096 })
      await expectFailure(
        () => prepared.run({ inputs: [second.slice(0, 8)], outputs: [whole.slice(4100, 8)] }),
        'INVALID_ARGUMENT',
        'Q10',
      )
      prepared.run({ inputs: [second.slice(0, 8)], outputs: [whole.slice(0, 8)] })
    })

  if (hasFiles)
    test('a file that shrinks fails the execution, and the driver serves on', async () => {
      await expectNoLeaks(async () => {
        using model = addModel([1, 2])
        using prepared = await driver.prepare(model)
        using pool = createPool(4096)
        const path = join(directory, 'shrinks')
        writeFileSync(path, Buffer.alloc(8192))
        using file = openFilePool(path)
        prepared.run({ inputs: [file.slice(4096, 8)], outputs: [pool.slice(0, 8)] })
        truncateSync(path, 100)
        await expectFailure(
          () => prepared.run({ inputs: [file.slice(4096, 8)], outputs: [pool.slice(64, 8)] }),
          'GENERAL_FAILURE',
          'P15',
        )
        prepared.run({ inputs: [pool.slice(0, 8)], outputs: [pool.slice(64, 8)] })
      })
    })

  if (hasFiles)
    test('each execution fails whose values a file has lost, from the first on, and others succeed', async () => {
      await expectNoLeaks(async () => {
        using model = addModel([1, 2])
        using prepared = await driver.prepare(model)
        using pool = createPool(4096)
        const path = join(directory, 'lost')
        for (const isWarm of [false, true])
          for (const access of ['read', 'read-write'] as const)
            for (const [byteSize, lost, kept] of [
              [4096, [4096, 8188], [4088, 0]],
              [100, [4096, 96], [88, 0]],
              [8100, [8096, 8184], [8088, 4096]],
            ] as const) {
              writeFileSync(path, new Float32Array(2048).fill(5))
              using file = openFilePool(path, { access })
              const run = (at: number, isWritten = false): void => {
                const [from, to] = isWritten
                  ? [pool.slice(0, 8), file.slice(at, 8)]
                  : [file.slice(at, 8), pool.slice(64, 8)]
                prepared.run({ inputs: [from], outputs: [to as PoolSlice<'writable'>] })
              }
              const all = [...lost.map((at) => (at + 8 > 8192 ? 8184 : at)), ...kept]
              // The driver maps a file that it does not know only if it is as large as the pool.
              run(isWarm ? all[0]! : kept[0])
              truncateSync(path, byteSize)
              for (const isWritten of access === 'read' ? [false] : [false, true]) {
                for (let i = 0; i < 3; i++)
                  for (const at of all.slice(0, 2))
                    await expectFailure(() => run(at, isWritten), 'GENERAL_FAILURE', 'P15')
                for (const at of kept) run(at, isWritten)
              }
              run(kept[0])
              // The writer is told of writes that were lost, which is this process or the driver.
              if (where === 'in process' && access === 'read-write' && byteSize <= 4096)
                expect(() => file.close()).toThrow('/lost from byte 4098 on were lost')
              else file[Symbol.dispose]()
            }
      })
    })

  if (hasFiles)
    test('constants of a file that shrank before fail the preparation', async () => {
      await expectNoLeaks(async () => {
        const path = join(directory, 'shrunk')
        writeFileSync(path, Buffer.alloc(8192))
        using file = openFilePool(path)
        truncateSync(path, 100)
        using model = buildModel((g) => {
          const x = g.input('TENSOR_FLOAT32', [2])
          const y = g.constant('TENSOR_FLOAT32', [2], file.slice(4096, 8))
          g.output(g.operation('ADD', [x, y, g.scalar('INT32', 0)], { type: 'TENSOR_FLOAT32', dimensions: [2] }))
        })
        // A driver that maps the file anew finds it too short at once.
        const error = await thrownBy(() => driver.prepare(model))
        expect([error.status, ['M21', 'P15'].includes(error.rule!)]).toEqual(['GENERAL_FAILURE', true])
      })
    })

  test('operations that the driver does not have are refused', async () => {
    using model = buildModel((g) => {
      const x = g.input('TENSOR_FLOAT32', [2])
      const y = g.operation('RELU', [x], { type: 'TENSOR_FLOAT32', dimensions: [2] })
      g.output(g.operation('NO_SUCH_OPERATION', [y], { type: 'TENSOR_FLOAT32', dimensions: [2] }))
    })
    expect(await driver.supportedOperations(model)).toEqual([true, false])
    const error = await expectFailure(() => driver.prepare(model), 'GENERAL_FAILURE', 'M19')
    expect(error.path).toBe('main.operations[1]')
  })

  test('operands may be left out', async () => {
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    using pool = createPool(64)
    await expectFailure(() => prepared.run({ inputs: [OMIT], outputs: [pool.slice(0, 8)] }), 'INVALID_ARGUMENT')
    await expectFailure(() => prepared.run({ inputs: [pool.slice(0, 8)], outputs: [OMIT] }), 'INVALID_ARGUMENT', 'Q2')
  })

  test('deadlines that have passed already are refused', async () => {
    using model = addModel([1, 2])
    await expectFailure(() => driver.prepare(model, { deadline: 0 }), 'MISSED_DEADLINE_PERSISTENT')
    using prepared = await driver.prepare(model, { deadline: 60_000 })
    using pool = createPool(4096)
    await expectFailure(() => prepared.run(slices(pool, 2), { deadline: -1 }), 'MISSED_DEADLINE_PERSISTENT')
    await expectFailure(() => prepared.runAsync(slices(pool, 2), { deadline: 0 }), 'MISSED_DEADLINE_PERSISTENT')
    prepared.run(slices(pool, 2), { deadline: 60_000 })
    await prepared.runAsync(slices(pool, 2), { deadline: 60_000 })
  })

  test('an aborted signal cancels requests', async () => {
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    using pool = createPool(4096)
    const reason = new Error('enough')
    await expect(prepared.runAsync(slices(pool, 2), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    await prepared.runAsync(slices(pool, 2), { signal: new AbortController().signal })
  })

  test('objects in use cannot be closed, and closed objects cannot be used', async () => {
    const model = addModel([1, 2])
    const prepared = await driver.prepare(model)
    const pool = createPool(4096)
    const running = prepared.runAsync(slices(pool, 2))
    await running
    pool.close()
    const [input, output] = [pool.slice(0, 8), pool.slice(64, 8)]
    expect(() => prepared.run({ inputs: [input], outputs: [output] })).toThrow(ScopeClosedError)
    prepared.close()
    using other = createPool(4096)
    expect(() => prepared.run(slices(other, 2))).toThrow(ScopeClosedError)
    await expect(prepared.runAsync(slices(other, 2))).rejects.toThrow(ScopeClosedError)
    model[Symbol.dispose]()
  })

  test('arguments of the wrong kind are refused with the expected kind', async () => {
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    using pool = createPool(4096)
    expect(() => prepared.run({ inputs: [pool as never], outputs: [pool.slice(0, 8)] })).toThrow(ArgumentError)
  })

  test('a frozen pool can be an input', async () => {
    await expectNoLeaks(async () => {
      using model = addModel([1, 2])
      using prepared = await driver.prepare(model)
      using pool = createPool(4096)
      const source = createPool(4096)
      source.write(0, new Float32Array([3, 4]))
      using frozen = freezePool(source)
      prepared.run({ inputs: [frozen.slice(0, 8)], outputs: [pool.slice(0, 8)] })
      expect(floats(pool.read(0, 8))).toEqual([4, 6])
    })
  })
})
