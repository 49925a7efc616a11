import { readFileSync } from 'node:fs'
import { quarantine } from '@tenon/config/sanitizer'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectDriver, localDriver, workerDriver, type Driver, type PreparedModel } from '../src/index.ts'
import { createPool } from '@tenon/pools'
import { Server } from './server.ts'
import { addModel, expectNoLeaks, settled } from './support.ts'

const isSoak = process.env['TENON_SOAK'] === '1'
const [cycles, allocations] = isSoak ? [10_000, 100_000] : [200, 2000]

const MIB = 2 ** 20
/** What heaps may breathe, in bytes: garbage that is not collected yet counts for a process. */
const [HEAP_SLACK, PROCESS_SLACK] = [2 * MIB, 64 * MIB + quarantine]

let server: Server
beforeAll(async () => {
  server = await Server.start()
})
afterAll(() => server.stop())

/** Bytes that this process can't do without, and the memory of both processes, the server's garbage included. */
async function memory(): Promise<{ heap: number; processes: number }> {
  // What finalizers and weak references keep goes a turn later.
  for (let i = 0; i < 4; i++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    globalThis.gc!()
  }
  const { heapUsed, external, rss } = process.memoryUsage()
  const pages = Number(readFileSync(`/proc/${server.child.pid}/statm`, 'utf8').split(' ')[1])
  return { heap: heapUsed + external, processes: rss + pages * 4096 }
}

/** Runs rounds and expects that the last three quarters of them need no more of anything than the first. */
async function expectNoGrowth(driver: Driver, rounds: number, round: () => Promise<void>): Promise<void> {
  for (let i = 0; i < rounds / 4; i++) await round()
  await settled(driver)
  const before = await memory()
  await expectNoLeaks(async () => {
    for (let i = rounds / 4; i < rounds; i++) await round()
  })
  await settled(driver)
  const after = await memory()
  expect(after.heap - before.heap).toBeLessThan(HEAP_SLACK)
  expect(after.processes - before.processes).toBeLessThan(PROCESS_SLACK)
}

describe.each([
  ['in process', localDriver],
  ['in a worker', workerDriver],
  ['in another process', () => connectDriver(server.path)],
] as const)('%s', (name, start) => {
  test(`${cycles} rounds of prepare, execute and release leave nothing behind`, async () => {
    await using driver = await start()
    using pool = createPool(4096)
    using model = addModel(Array.from({ length: 100 }, (_, i) => i))
    await expectNoGrowth(driver, cycles, async () => {
      using prepared: PreparedModel = await driver.prepare(model)
      prepared.run({ inputs: [pool.slice(0, 400)], outputs: [pool.slice(1024, 400)] })
    })
  })

  test(`${allocations} device buffers leave nothing behind`, async () => {
    await using driver = await start()
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    await expectNoGrowth(driver, allocations, async () => {
      const buffer = await driver.allocate({ roles: [prepared.input(0)] })
      buffer.close()
    })
  })

  test(`${cycles} pools that a driver sees once leave nothing behind`, async () => {
    await using driver = await start()
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    await expectNoGrowth(driver, cycles, async () => {
      using pool = createPool(4096)
      prepared.run({ inputs: [pool.slice(0, 8)], outputs: [pool.slice(64, 8)] })
    })
    if (name === 'in another process') {
      await driver.closeAsync()
      await server.isIdle()
    }
  })
})
