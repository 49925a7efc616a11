import { describe, expect, test } from 'vitest'
import { ScopeClosedError } from '@tenon/core'
import { connectDriver, type Driver, type PreparedModel } from '../src/index.ts'
import { createPool } from '@tenon/pools'
import { argument } from './request-cases.ts'
import { Server } from './server.ts'
import { addModel, expectFailure, expectNoLeaks, floats, homes, settled, useAdder } from './support.ts'

describe.each(homes)('bursts of a driver %s', (_, start) => {
  let driver: Driver
  let prepared: PreparedModel
  useAdder(start, (opened) => ({ driver, prepared } = opened))

  test('run executions one after another', async () => {
    await expectNoLeaks(async () => {
      using burst = prepared.burst()
      using pool = createPool(64)
      for (let i = 0; i < 20; i++) {
        pool.write(0, new Float32Array([i, -i]))
        const args = { inputs: [pool.slice(0, 8)], outputs: [pool.slice(16, 8)] }
        if (i % 2 === 0) burst.run(args)
        else await burst.runAsync(args)
        expect(floats(pool.read(16, 8))).toEqual([i + 1, 2 - i])
      }
    })
    await settled(driver)
  })

  test('refuse a second execution while one is in progress', async () => {
    using burst = prepared.burst()
    using pool = createPool(64)
    const args = { inputs: [pool.slice(0, 8)], outputs: [pool.slice(16, 8)] }
    const first = burst.runAsync(args)
    const others = [
      expectFailure(() => burst.runAsync(args), 'GENERAL_FAILURE', 'Q19'),
      expectFailure(() => burst.run(args), 'GENERAL_FAILURE', 'Q19'),
    ]
    await Promise.all([first, ...others])
    await expectFailure(() => burst.run({ inputs: [], outputs: [] }), 'INVALID_ARGUMENT', 'Q1')
    burst.run(args)
  })

  test('identifiers name pools until they are released, once or more', async () => {
    using burst = prepared.burst()
    using other = prepared.burst()
    const pools = [createPool(64), createPool(64)]
    const at = (poolIndex: number) => argument({ location: { poolIndex, length: 8 } })
    const run = (identifiers: number[], [first, second] = pools) =>
      burst.run({ inputs: [at(0)], outputs: [at(1)], pools: [first!, second!] }, { identifiers })
    run([5, -1])
    run([5, 6])
    await expectFailure(() => run([6, 5]), 'INVALID_ARGUMENT', 'Q19')
    for (const wrong of [[-2, -1], [0.5, 1], [1], [1, 2, 3]])
      await expectFailure(() => run(wrong), 'INVALID_ARGUMENT', 'Q19')
    // Another burst has its own.
    other.run({ inputs: [at(0)], outputs: [at(1)], pools: [pools[1]!, pools[0]!] }, { identifiers: [5, 6] })
    burst.releasePool(5)
    burst.releasePool(5)
    burst.releasePool(99)
    burst.releasePool(pools[1]!)
    run([6, 5])
    for (const pool of pools) pool.close()
    burst.releasePool(5)
  })

  test('release pools that are closed, and all pools when they are closed', async () => {
    const burst = prepared.burst()
    const pool = createPool(64)
    const args = { inputs: [pool.slice(0, 8)], outputs: [pool.slice(16, 8)] }
    burst.run(args)
    pool.close()
    expect(() => burst.run(args)).toThrow(ScopeClosedError)
    using second = createPool(64)
    const again = { inputs: [second.slice(0, 8)], outputs: [second.slice(16, 8)] }
    burst.run(again)
    burst.close()
    expect(() => burst.run(again)).toThrow(ScopeClosedError)
    await expect(burst.runAsync(again)).rejects.toThrow(ScopeClosedError)
  })
})

test('a driver keeps the pools of a burst, and releases other pools instead', async () => {
  await using server = await Server.start({ pools: 4 })
  await using driver = await connectDriver(server.path)
  using model = addModel([1, 2])
  using prepared = await driver.prepare(model)
  const burst = prepared.burst()
  using kept = createPool(1 << 20, { label: 'kept' })
  const argsOf = (pool: typeof kept) => ({ inputs: [pool.slice(0, 8)], outputs: [pool.slice(16, 8)] })
  burst.run(argsOf(kept))
  const pools = Array.from({ length: 20 }, () => createPool(64, { label: 'other' }))
  for (const pool of pools) prepared.run(argsOf(pool))
  await settled(driver)
  expect(server.mapped('kept')).toBe(1)
  expect(server.mapped('other')).toBe(3)
  burst.close()
  for (const pool of pools) prepared.run(argsOf(pool))
  await settled(driver)
  expect(server.mapped('kept')).toBe(0)
  for (const pool of pools) pool.close()
})
