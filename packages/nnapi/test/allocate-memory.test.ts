import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ScopeClosedError, ScopeHeldError } from '@tenon/core'
import {
  allocateMemory,
  connectDriver,
  createFence,
  type DeviceBuffer,
  type Driver,
  localDriver,
  type PreparedModel,
  type Role,
} from '../src/index.ts'
import { createPool } from '@tenon/pools'
import { Server } from './server.ts'
import { addModel, expectFailure, expectNoLeaks, floats, homes } from './support.ts'

describe.each(homes)('memory beside a driver %s', (_, start) => {
  let driver: Driver
  let other: Driver
  let model: ReturnType<typeof addModel>
  let prepared: PreparedModel
  let second: PreparedModel
  beforeAll(async () => {
    driver = await start()
    other = localDriver()
    model = addModel([1, 2])
    prepared = await driver.prepare(model)
    second = await other.prepare(model)
  })
  afterAll(async () => {
    await driver.closeAsync()
    await other.closeAsync()
    model[Symbol.dispose]()
  })

  const roles = (): Role[] => [prepared.input(0), prepared.output(0), second.input(0), second.output(0)]

  test("is the driver's where it can be", async () => {
    using buffer = await allocateMemory({ roles: [prepared.input(0)] })
    expect([buffer.isFallback, buffer.dimensions, buffer.byteSize]).toEqual([false, [2], 8])
  })

  test('is ordinary memory when several drivers share it, and they see the same values', async () => {
    await expectNoLeaks(async () => {
      using buffer = await allocateMemory({ roles: roles() })
      using result = await allocateMemory({ roles: roles() })
      using pool = createPool(64)
      expect(buffer.isFallback).toBe(true)
      pool.write(0, new Float32Array([10, 20]))
      await buffer.copyFrom(pool.slice(0, 8))
      prepared.run({ inputs: [buffer], outputs: [result] })
      await second.runAsync({ inputs: [result], outputs: [buffer] })
      await buffer.copyTo(pool.slice(8, 8))
      expect(floats(pool.read(8, 8))).toEqual([12, 24])
      await result.copyFrom(buffer)
      await result.copyTo(pool.slice(16, 8))
      expect(floats(pool.read(16, 8))).toEqual([12, 24])
    })
  })

  test('has the states and roles of a device buffer', async () => {
    await expectNoLeaks(async () => {
      using buffer = await allocateMemory({ roles: [prepared.input(0), second.output(0)] })
      using pool = createPool(64)
      const args = { inputs: [buffer], outputs: [pool.slice(16, 8)] }
      await expectFailure(() => prepared.run(args), 'GENERAL_FAILURE', 'D17')
      await expectFailure(() => prepared.runAsync(args), 'GENERAL_FAILURE', 'D17')
      await expectFailure(() => buffer.copyTo(pool.slice(0, 8)), 'GENERAL_FAILURE', 'D25')
      await expectFailure(() => second.run(args), 'INVALID_ARGUMENT', 'D31')
      await expectFailure(
        () => prepared.run({ inputs: [pool.slice(0, 8)], outputs: [buffer] }),
        'INVALID_ARGUMENT',
        'D31',
      )
      await expectFailure(() => buffer.copyFrom(pool.slice(0, 4)), 'INVALID_ARGUMENT', 'D23')
      await expectFailure(() => buffer.copyFrom(pool.slice(0, 8, { dimensions: [3] })), 'INVALID_ARGUMENT', 'D24')
      await buffer.copyFrom(pool.slice(0, 8))
      await expectFailure(() => buffer.copyTo(pool.slice(0, 16)), 'INVALID_ARGUMENT', 'D25')
      prepared.run(args)
      second.run({ inputs: [pool.slice(0, 8)], outputs: [buffer] })
      await buffer.copyTo(pool.slice(32, 8))
      expect(floats(pool.read(32, 8))).toEqual([1, 2])
      // The output of an execution that failed holds no value.
      await expectFailure(() => second.run({ inputs: [pool.slice(0, 4)], outputs: [buffer] }), 'INVALID_ARGUMENT')
      await expectFailure(() => prepared.run(args), 'GENERAL_FAILURE', 'D17')
    })
  })

  test('survives close() while an execution uses it', async () => {
    await expectNoLeaks(async () => {
      const buffer = await allocateMemory({ roles: roles() })
      using pool = createPool(64)
      await buffer.copyFrom(pool.slice(0, 8))
      const running = prepared.runAsync({ inputs: [buffer], outputs: [pool.slice(16, 8)] })
      buffer.close()
      await running
      expect(floats(pool.read(16, 8))).toEqual([1, 2])
      expect(() => prepared.run({ inputs: [buffer], outputs: [pool.slice(16, 8)] })).toThrow(ScopeClosedError)
    })
  })

  test('is passed between executions by fences', async () => {
    if (homes.length < 3) return
    await expectNoLeaks(async () => {
      using buffer = await allocateMemory({ roles: roles() })
      using pool = createPool(64)
      using source = createFence()
      const first = await prepared.runFencedAsync(
        { inputs: [pool.slice(0, 8)], outputs: [buffer] },
        { waitFor: [source.fence] },
      )
      const next = await second.runFencedAsync(
        { inputs: [buffer], outputs: [pool.slice(16, 8)] },
        { waitFor: [first.fence] },
      )
      expect(() => pool.close()).toThrow(ScopeHeldError)
      source.signal()
      await next.fence.waitAsync()
      expect(floats(pool.read(16, 8))).toEqual([2, 4])
      await Promise.all([first.info, next.info])
      for (const fence of [first.fence, next.fence, source.fence]) fence.close()
    })
  })

  test('is refused without a known size, and when a rule is broken', async () => {
    using open = addModel([5], [0])
    using flexible = await driver.prepare(open)
    using alike = await other.prepare(open)
    using own = await allocateMemory({ roles: [flexible.input(0)] })
    expect([own.isFallback, own.byteSize]).toEqual([false, 0])
    await expectFailure(() => allocateMemory({ roles: [flexible.input(0), alike.input(0)] }), 'GENERAL_FAILURE', 'D14')
    await expectFailure(() => allocateMemory({ roles: [] }), 'INVALID_ARGUMENT', 'D1')
    await expectFailure(() => allocateMemory({ roles: [prepared.input(9)] }), 'INVALID_ARGUMENT', 'D5')
    await expectFailure(
      () => allocateMemory({ roles: [prepared.input(0), prepared.input(0)] }),
      'INVALID_ARGUMENT',
      'D7',
    )
    using settled = await allocateMemory({ roles: [flexible.input(0), alike.input(0)], dimensions: [3] })
    expect([settled.isFallback, settled.byteSize]).toEqual([true, 12])
  })
})

test('allocateMemory() takes ordinary memory when the driver has no room', async () => {
  await using server = await Server.start({ buffers: 2 })
  await using driver = await connectDriver(server.path)
  using model = addModel([1, 2])
  using prepared = await driver.prepare(model)
  const roles = [prepared.input(0), prepared.output(0)]
  const buffers: DeviceBuffer[] = []
  for (let i = 0; i < 4; i++) buffers.push(await allocateMemory({ roles }))
  expect(buffers.map(({ isFallback }) => isFallback)).toEqual([false, false, true, true])
  await expectFailure(() => driver.allocate({ roles }), 'RESOURCE_EXHAUSTED_TRANSIENT')
  using pool = createPool(64)
  await buffers[0]!.copyFrom(pool.slice(0, 8))
  for (let i = 0; i < 3; i++) prepared.run({ inputs: [buffers[i]!], outputs: [buffers[i + 1]!] })
  await buffers[3]!.copyTo(pool.slice(8, 8))
  expect(floats(pool.read(8, 8))).toEqual([3, 6])
  for (const buffer of buffers) buffer.close()
})
