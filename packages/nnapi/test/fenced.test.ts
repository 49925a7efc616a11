import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { ScopeClosedError, ScopeHeldError } from '@tenon/core'
import {
  buildModel,
  connectDriver,
  createFence,
  type Driver,
  importFence,
  type PreparedModel,
  spawnDriver,
  operandSlice,
} from '../src/index.ts'
import { createFrozenPool, createPool } from '@tenon/pools'
import { closeDescriptor, socketPair } from '@tenon/pools/internal'
import { Server } from './server.ts'
import { addModel, expectFailure, expectNoLeaks, floats, homes, settled, thrownBy, until, useAdder } from './support.ts'

describe('fences', () => {
  test('are signalled once, which everybody who has them sees', async () => {
    await expectNoLeaks(async () => {
      using source = createFence()
      using fence = source.fence
      using same = importFence(fence.descriptor)
      expect([fence.status, same.status]).toEqual(['active', 'active'])
      const waiting = Promise.all([fence.waitAsync(), same.waitAsync({ timeout: 10_000 })])
      source.signal()
      source.signal()
      await waiting
      same.wait()
      expect([fence.status, same.status]).toEqual(['signaled', 'signaled'])
    })
  })

  test('fail when their other end is closed', async () => {
    await expectNoLeaks(async () => {
      const source = createFence()
      using fence = source.fence
      const waiting = fence.waitAsync()
      source[Symbol.dispose]()
      await expectFailure(() => waiting, 'GENERAL_FAILURE')
      await expectFailure(() => fence.wait(), 'GENERAL_FAILURE')
      expect(fence.status).toBe('failed')
    })
  })

  test('that stay active are waited for until the timeout', async () => {
    await expectNoLeaks(async () => {
      using source = createFence()
      using fence = source.fence
      await expectFailure(() => fence.waitAsync({ timeout: 5 }), 'MISSED_DEADLINE_TRANSIENT')
      await expectFailure(() => fence.wait({ timeout: 5 }), 'MISSED_DEADLINE_TRANSIENT')
    })
  })

  test('cannot be closed while a wait is in progress, nor used after close()', async () => {
    const source = createFence()
    const waiting = source.fence.waitAsync()
    expect(() => source.fence.close()).toThrow(ScopeHeldError)
    source.signal()
    await waiting
    source.fence.close()
    expect(() => source.fence.status).toThrow(ScopeClosedError)
    expect(() => source.fence.descriptor).toThrow(ScopeClosedError)
  })

  test('are refused if the descriptor is not a fence', async () => {
    using pool = createPool(64)
    await expectFailure(() => importFence(pool.descriptor!), 'INVALID_ARGUMENT')
    expect(() => importFence(-1)).toThrow(TypeError)
  })

  test('fail when the process with the other end dies', async () => {
    const [mine, theirs] = socketPair('stream')
    using fence = importFence(mine)
    closeDescriptor(mine)
    const child = spawn('sleep', ['60'], { stdio: ['ignore', 'ignore', 'ignore', theirs] })
    closeDescriptor(theirs)
    await once(child, 'spawn')
    expect(fence.status).toBe('active')
    child.kill('SIGKILL')
    await expectFailure(() => fence.waitAsync(), 'GENERAL_FAILURE')
  })
})

describe.each(homes)('fenced executions of a driver %s', (_, start) => {
  let driver: Driver
  let prepared: PreparedModel
  useAdder(start, (opened) => ({ driver, prepared } = opened))

  test('begin when all fences are signalled, and signal their own', async () => {
    await expectNoLeaks(async () => {
      const pool = createPool(64)
      const sources = [createFence(), createFence(), createFence()]
      const args = { inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] }
      const execution = await prepared.runFencedAsync(args, { waitFor: sources.map(({ fence }) => fence) })
      sources[2]!.signal()
      sources[0]!.signal()
      expect(execution.fence.status).toBe('active')
      expect(() => pool.close()).toThrow(ScopeHeldError)
      pool.write(0, new Float32Array([10, 20]))
      sources[1]!.signal()
      await execution.fence.waitAsync()
      expect(floats(pool.read(8, 8))).toEqual([11, 22])
      const info = await execution.info
      expect(info).toMatchObject({
        status: 'NONE',
        error: undefined,
        outputs: [{ dimensions: [2], isSufficient: true }],
      })
      expect(info.timeFenced).toBeGreaterThan(0)
      expect(info.timeLaunched).toBeGreaterThanOrEqual(info.timeFenced)
      execution[Symbol.dispose]()
      for (const { fence } of sources) fence.close()
      pool.close()
    })
    await settled(driver)
  })

  test('without fences begin at once', async () => {
    using pool = createPool(64)
    const execution = await prepared.runFencedAsync({ inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] })
    await execution.fence.waitAsync()
    expect((await execution.info).status).toBe('NONE')
    expect(floats(pool.read(8, 8))).toEqual([1, 2])
    execution[Symbol.dispose]()
  })

  test('wait for each other', async () => {
    await expectNoLeaks(async () => {
      using pool = createPool(256)
      using source = createFence()
      const first = await prepared.runFencedAsync(
        { inputs: [pool.slice(0, 8)], outputs: [pool.slice(64, 8)] },
        { waitFor: [source.fence] },
      )
      const second = await prepared.runFencedAsync(
        { inputs: [pool.slice(64, 8)], outputs: [pool.slice(128, 8)] },
        { waitFor: [first.fence] },
      )
      pool.write(0, new Float32Array([5, 5]))
      source.signal()
      await second.fence.waitAsync()
      expect(floats(pool.read(128, 8))).toEqual([7, 9])
      await Promise.all([first.info, second.info])
      for (const fence of [first.fence, second.fence, source.fence]) fence.close()
    })
    await settled(driver)
  })

  test('write device buffers, whose state is checked when they begin', async () => {
    using pool = createPool(64)
    using buffer = await driver.allocate({ roles: [prepared.input(0), prepared.output(0)] })
    using source = createFence()
    const first = await prepared.runFencedAsync(
      { inputs: [pool.slice(0, 8)], outputs: [buffer] },
      { waitFor: [source.fence] },
    )
    const second = await prepared.runFencedAsync(
      { inputs: [buffer], outputs: [pool.slice(8, 8)] },
      { waitFor: [first.fence] },
    )
    source.signal()
    await second.fence.waitAsync()
    expect(floats(pool.read(8, 8))).toEqual([2, 4])
    await Promise.all([first.info, second.info])
    for (const fence of [first.fence, second.fence, source.fence]) fence.close()
  })

  test('are refused if the shape of an output is open, or the request is invalid', async () => {
    await expectNoLeaks(async () => {
      using open = addModel([5], [0])
      using flexible = await driver.prepare(open)
      using pool = createPool(64)
      const input = operandSlice(pool, 0, 'TENSOR_FLOAT32', [2])
      const launch = (output: ReturnType<typeof pool.slice>) => () =>
        flexible.runFencedAsync({ inputs: [input], outputs: [output] })
      await expectFailure(launch(pool.slice(32, 8)), 'INVALID_ARGUMENT', 'Q16')
      await expectFailure(launch(pool.slice(32, 8, { dimensions: [0] })), 'INVALID_ARGUMENT', 'Q16')
      await expectFailure(launch(pool.slice(32, 4, { dimensions: [2] })), 'INVALID_ARGUMENT', 'Q8')
      await expectFailure(launch(pool.slice(4, 8, { dimensions: [2] })), 'INVALID_ARGUMENT', 'Q10')
      const execution = await flexible.runFencedAsync({
        inputs: [input],
        outputs: [pool.slice(32, 8, { dimensions: [2] })],
      })
      await execution.info
      execution[Symbol.dispose]()
    })
    await settled(driver)
  })

  test('fail when a fence fails, before or after the launch', async () => {
    await expectNoLeaks(async () => {
      using pool = createPool(64)
      const args = { inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] }
      const source = createFence()
      const execution = await prepared.runFencedAsync(args, { waitFor: [source.fence] })
      source[Symbol.dispose]()
      await expectFailure(() => execution.fence.waitAsync(), 'GENERAL_FAILURE')
      const info = await execution.info
      expect([info.status, info.error?.status, info.outputs]).toEqual(['GENERAL_FAILURE', 'GENERAL_FAILURE', []])
      await expectFailure(() => prepared.runFencedAsync(args, { waitFor: [source.fence] }), 'GENERAL_FAILURE')
      execution[Symbol.dispose]()
      source.fence.close()
      expect(floats(pool.read(8, 8))).toEqual([0, 0])
    })
    await settled(driver)
  })

  test('miss their deadlines', async () => {
    await expectNoLeaks(async () => {
      using pool = createPool(64)
      using buffer = await driver.allocate({ roles: [prepared.input(0), prepared.output(0)] })
      await buffer.copyFrom(pool.slice(0, 8))
      using source = createFence()
      const execution = await prepared.runFencedAsync(
        { inputs: [pool.slice(0, 8)], outputs: [buffer] },
        { waitFor: [source.fence], deadline: 20 },
      )
      await expectFailure(() => execution.fence.waitAsync(), 'GENERAL_FAILURE')
      expect((await execution.info).status).toBe('MISSED_DEADLINE_TRANSIENT')
      await until(() => pool.gate.holds === 0, 'the driver has answered')
      // An execution that failed takes the value away (D16).
      await expectFailure(() => buffer.copyTo(pool.slice(0, 8)), 'GENERAL_FAILURE', 'D25')
      const args = { inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] }
      const late = await prepared.runFencedAsync(args, { deadlineAfterFences: 0 })
      expect((await late.info).status).toBe('MISSED_DEADLINE_TRANSIENT')
      await until(() => pool.gate.holds === 0, 'the driver has answered')
      await expectFailure(() => prepared.runFencedAsync(args, { deadline: 0 }), 'MISSED_DEADLINE_PERSISTENT')
      for (const fence of [execution.fence, late.fence, source.fence]) fence.close()
    })
    await settled(driver)
  })

  test('keep their model and pools alive until they are over', async () => {
    await expectNoLeaks(async () => {
      using constants = createFrozenPool(new Float32Array(64).fill(3))
      using own = buildModel((g) => {
        const x = g.input('TENSOR_FLOAT32', [64])
        const y = g.constant('TENSOR_FLOAT32', [64], constants.slice(0))
        g.output(g.operation('ADD', [x, y, g.scalar('INT32', 0)], { type: 'TENSOR_FLOAT32', dimensions: [64] }))
      })
      const short = await driver.prepare(own)
      using pool = createPool(1024)
      using source = createFence()
      const args = { inputs: [pool.slice(0, 256)], outputs: [pool.slice(512, 256)] }
      const execution = await short.runFencedAsync(args, { waitFor: [source.fence] })
      expect(() => short.close()).toThrow(ScopeHeldError)
      source.signal()
      await execution.info
      short.close()
      expect(new Set(floats(pool.read(512, 256)))).toEqual(new Set([3]))
      execution[Symbol.dispose]()
      source.fence.close()
    })
    await settled(driver)
  })

  test('are over when the driver is closed', async () => {
    await expectNoLeaks(async () => {
      const other = await start()
      using own = addModel([1, 2])
      const short = await other.prepare(own)
      using pool = createPool(64)
      using source = createFence()
      const execution = await short.runFencedAsync(
        { inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] },
        { waitFor: [source.fence] },
      )
      await other.closeAsync()
      expect((await thrownBy(() => execution.info)).status).toBe('DEAD_OBJECT')
      await expectFailure(() => execution.fence.waitAsync(), 'GENERAL_FAILURE')
      execution[Symbol.dispose]()
      source.fence.close()
    })
  })
})

describe('fenced executions across drivers', () => {
  test('a chain through three processes', async () => {
    await expectNoLeaks(async () => {
      const drivers = await Promise.all([spawnDriver(), spawnDriver(), spawnDriver()])
      using model = addModel([1, 1])
      const prepared = await Promise.all(drivers.map((driver) => driver.prepare(model)))
      using pool = createPool(1024)
      using source = createFence()
      let last = source.fence
      const infos: Promise<unknown>[] = []
      for (const [i, one] of prepared.entries()) {
        const execution = await one.runFencedAsync(
          { inputs: [pool.slice(i * 64, 8)], outputs: [pool.slice(i * 64 + 64, 8)] },
          { waitFor: [last] },
        )
        last.close()
        last = execution.fence
        infos.push(execution.info)
      }
      source.signal()
      await last.waitAsync()
      await Promise.all(infos)
      last.close()
      expect(floats(pool.read(192, 8))).toEqual([3, 3])
      for (const driver of drivers) await driver.closeAsync()
    })
  })

  test('a driver that is killed fails its fences, and the executions that wait for them', async () => {
    await using server = await Server.start()
    await using survivor = await Server.start()
    await using doomed = await connectDriver(server.path)
    await using other = await connectDriver(survivor.path)
    using model = addModel([1, 1])
    using first = await doomed.prepare(model)
    using second = await other.prepare(model)
    using pool = createPool(1024)
    using source = createFence()
    const one = await first.runFencedAsync(
      { inputs: [pool.slice(0, 8)], outputs: [pool.slice(64, 8)] },
      { waitFor: [source.fence] },
    )
    const two = await second.runFencedAsync(
      { inputs: [pool.slice(64, 8)], outputs: [pool.slice(128, 8)] },
      { waitFor: [one.fence] },
    )
    server.child.kill('SIGKILL')
    await expectFailure(() => one.fence.waitAsync(), 'GENERAL_FAILURE')
    await expectFailure(() => one.info, 'DEAD_OBJECT')
    expect((await two.info).status).toBe('GENERAL_FAILURE')
    for (const fence of [one.fence, two.fence, source.fence]) fence.close()
    second.close()
    await other.closeAsync()
    pool.close()
    await survivor.isIdle()
  })
})
