import { inspect } from 'node:util'
import { ArgumentError, ScopeClosedError } from '@tenon/core'
import { describe, expect, test } from 'vitest'
import {
  buildModel,
  connectDriver,
  createFence,
  localDriver,
  ModelBuilder,
  serveDriver,
  spawnDriver,
  validateModel,
  validateRequest,
  workerDriver,
  operandSlice,
} from '../src/index.ts'
import { createFrozenPool, createImagePool, createPool, openFilePool } from '@tenon/pools'
import { addModel, hasFiles, thrownBy } from './support.ts'

describe('console.log prints one line', () => {
  test('for pools and slices', () => {
    const pool = createPool(64, { label: 'activations' })
    expect(inspect(pool)).toBe(`Pool "activations" (shared, 64 bytes, writable, ${pool.backing})`)
    expect(inspect(operandSlice(pool, 16, 'TENSOR_FLOAT32', [2]))).toBe(`PoolSlice [2] (bytes 16 to 24 of ${pool})`)
    pool.close()
    expect(inspect(pool)).toBe('Pool "activations" (shared, 64 bytes, writable, closed)')
    using image = createImagePool({ width: 3, height: 2, format: 'R8_UNORM' })
    expect(inspect(image)).toBe(`ImagePool (3 x 2 R8_UNORM, 1 layer, writable, ${image.backing})`)
  })

  test('for models, drivers and device buffers', async () => {
    const model = addModel([1, 2])
    expect(inspect(model)).toBe('BuiltModel (1 input, 1 output, 1 operation)')
    expect(inspect(new ModelBuilder())).toBe('ModelBuilder (0 operands, 0 operations)')
    const driver = localDriver()
    const prepared = await driver.prepare(model)
    expect(inspect(prepared)).toBe('PreparedModel (1 input, 1 output, 1 operation)')
    const buffer = await driver.allocate({ roles: [prepared.input(0), prepared.output(0)] })
    expect(inspect(buffer)).toBe('DeviceBuffer [2] (8 bytes)')
    expect(inspect(driver)).toBe('Driver (1 model, 1 device buffer)')
    const burst = prepared.burst()
    expect(inspect(burst)).toBe('Burst (0 pools)')
    burst.close()
    expect(inspect(burst)).toBe('Burst (closed)')
    await driver.closeAsync()
    expect(inspect([driver, prepared, buffer])).toBe(
      '[ Driver (closed), PreparedModel (closed), DeviceBuffer [2] (closed) ]',
    )
    model.close()
  })

  test.runIf(hasFiles)('for fences and fenced executions', async () => {
    await using driver = localDriver()
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    using pool = createPool(64)
    const source = createFence()
    expect(inspect(source)).toBe('FenceSource of Fence (active)')
    const args = { inputs: [pool.slice(0, 8)], outputs: [pool.slice(16, 8)] }
    const execution = await prepared.runFencedAsync(args, { waitFor: [source.fence] })
    expect(inspect(execution)).toBe('FencedExecution with Fence (active)')
    source.signal()
    await execution.info
    expect(inspect(execution)).toBe('FencedExecution with Fence (signaled)')
    execution.close()
    source.fence.close()
    expect(inspect(source.fence)).toBe('Fence (closed)')
  })
})

describe('options', () => {
  const misspelled = { lable: '' } as object
  const options: readonly (readonly [string, () => unknown])[] = [
    ['createPool', () => createPool(64, misspelled)],
    ['createFrozenPool', () => createFrozenPool(new Uint8Array(1), misspelled)],
    ['createImagePool', () => createImagePool({ width: 1, height: 1, format: 'R8_UNORM', ...misspelled })],
    ['openFilePool', () => openFilePool('weights.bin', misspelled)],
    ['buildModel', () => buildModel(() => {}, misspelled)],
    ['localDriver', () => localDriver(misspelled)],
    ['the limits of localDriver', () => localDriver({ limits: misspelled })],
    ['workerDriver', () => workerDriver(misspelled)],
    ['spawnDriver', () => spawnDriver(misspelled)],
    ['connectDriver', () => connectDriver('/tmp/socket', misspelled)],
    ['serveDriver', () => serveDriver(misspelled)],
    ['validateModel', () => validateModel(addModel([1]), misspelled)],
    ['validateRequest', () => validateRequest(addModel([1]), { inputs: [], outputs: [], pools: [] }, misspelled)],
  ]

  test.each(options)('%s refuses a misspelled option', async (_, run) => {
    await expect((async () => run())()).rejects.toThrow(/must not have the option "lable"/)
    await expect((async () => run())()).rejects.toThrow(ArgumentError)
  })

  test('methods refuse a misspelled option, with a suggestion', async () => {
    await using driver = localDriver()
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    using pool = createPool(64)
    using burst = prepared.burst()
    const args = { inputs: [pool.slice(0, 8)], outputs: [pool.slice(16, 8)] }
    const late = { deadlne: 5 } as object
    for (const run of [
      () => prepared.run(args, late),
      () => prepared.runAsync(args, late),
      () => prepared.runFencedAsync(args, late),
      () => burst.run(args, late),
      () => burst.runAsync(args, late),
      () => driver.prepare(model, late),
      () => driver.supportedOperations(model, late),
      () => driver.allocate({ roles: [prepared.input(0)], ...late }),
    ])
      await expect((async () => run())()).rejects.toThrow(/did you mean deadline/i)
    expect(() => prepared.run(args, { signal: AbortSignal.abort() } as object)).toThrow(/"signal"/)
    expect(() => prepared.input(0, { frequncy: 1 } as object)).toThrow(/did you mean frequency/i)
    expect(() => pool.slice(0, 8, { paddin: 1 } as object)).toThrow(/did you mean padding/i)
  })

  test.runIf(hasFiles)('waiting for a fence refuses a misspelled option', async () => {
    using source = createFence()
    using fence = source.fence
    expect(() => fence.wait({ timout: 1 } as object)).toThrow(/did you mean timeout/i)
    await expect(fence.waitAsync({ timout: 1 } as object)).rejects.toThrow(/did you mean timeout/i)
  })
})

describe('ends', () => {
  test('close() throws ScopeClosedError at the second call, and Symbol.dispose does not', () => {
    const model = addModel([1])
    model.close()
    expect(() => model.close()).toThrow(ScopeClosedError)
    model[Symbol.dispose]()
  })

  test.runIf(hasFiles)('closing a source without a signal fails its fence', () => {
    const source = createFence()
    source.close()
    expect(source.fence.status).toBe('failed')
    expect(() => source.close()).toThrow(ScopeClosedError)
    source[Symbol.dispose]()
    source.fence.close()
  })

  test('closeAsync() of a driver rejects at the second call, and Symbol.asyncDispose does not', async () => {
    const driver = localDriver()
    await driver.closeAsync()
    await expect(driver.closeAsync()).rejects.toThrow(ScopeClosedError)
    await driver[Symbol.asyncDispose]()
    expect(driver.isAlive).toBe(false)
  })
})

test('errors say what was expected, what was received, and where', async () => {
  await using driver = localDriver()
  using model = addModel([1, 2])
  using prepared = await driver.prepare(model)
  const error = await thrownBy(() => prepared.run({ inputs: [], outputs: [] }))
  expect(error.sentence).toBe('inputs must be 1 argument, got 0 (rule Q1)')
  expect(error.details).toEqual({
    status: 'INVALID_ARGUMENT',
    rule: 'Q1',
    path: 'inputs',
    expected: 'be 1 argument',
    received: '0',
  })
})
