import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectDriver, createFence, type DeviceBuffer, type Driver, type PreparedModel } from '../src/index.ts'
import { createPool, type Pool } from '@tenon/pools'
import { Server } from './server.ts'
import { addModel, expectNoLeaks, floats, thrownBy } from './support.ts'

const isSoak = process.env['TENON_SOAK'] === '1'
/** How often each point is tried. */
const rounds = isSoak ? 100 : 1

/** A pass of work(), and of fixtures/client.js, has 13 steps. The short size has one step of the second pass, and the full size more. */
const all = Array.from({ length: isSoak ? 20 : 14 }, (_, point) => point)

/** A short run tries each second point, from the first or from the second. */
const first = Math.floor(Math.random() * 2)
const points = isSoak ? all : all.filter((point) => point % 2 === first)

/** Work of every kind; `step` runs between its parts and may kill somebody. */
async function work(driver: Driver, step: () => void): Promise<void> {
  const opened: (PreparedModel | DeviceBuffer | Pool | { [Symbol.dispose](): void })[] = []
  const keep = <T extends (typeof opened)[number]>(one: T): T => (opened.push(one), one)
  try {
    const model = keep(addModel(Array.from({ length: 64 }, (_, i) => i)))
    const preparing = driver.prepare(model)
    step()
    const prepared = keep(await preparing)
    step()
    const pool = keep(createPool(4096))
    const args = { inputs: [pool.slice(0, 256)], outputs: [pool.slice(1024, 256)] }
    prepared.run(args)
    step()
    const running = Promise.allSettled([
      prepared.runAsync(args),
      prepared.runAsync(args),
      driver.supportedOperations(model),
    ])
    step()
    for (const result of await running) if (result.status === 'rejected') throw result.reason
    step()
    const allocating = driver.allocate({ roles: [prepared.input(0), prepared.output(0)] })
    step()
    const buffer = keep(await allocating)
    step()
    const copying = buffer.copyFrom(pool.slice(0, 256))
    step()
    await copying
    step()
    const reading = prepared.runAsync({ inputs: [buffer], outputs: [pool.slice(2048, 256)] })
    step()
    await reading
    const source = keep(createFence())
    keep(source.fence)
    const launching = prepared.runFencedAsync(args, { waitFor: [source.fence] })
    step()
    const fenced = keep(await launching)
    step()
    source.signal()
    step()
    const { error } = await fenced.info
    if (error !== undefined) throw error
  } finally {
    for (const one of opened.toReversed()) one[Symbol.dispose]()
  }
}

describe('a driver that is killed', () => {
  test.each(points)(`at point %i, ${rounds} times`, async (point) => {
    for (let round = 0; round < rounds; round++) {
      await expectNoLeaks(async () => {
        const server = await Server.start({}, { executors: 1 })
        const driver = await connectDriver(server.path)
        let steps = 0
        let wasKilled = false
        const error = await thrownBy(async () => {
          for (;;) {
            await work(driver, () => {
              if (steps++ !== point) return
              server.child.kill('SIGKILL')
              wasKilled = true
            })
          }
        })
        expect([error.status, wasKilled]).toEqual(['DEAD_OBJECT', true])
        expect((await thrownBy(() => driver.supportedOperations(addModel([1])))).status).toBe('DEAD_OBJECT')
        await driver.closeAsync()
        await server.stop()
      })
    }
  })
})

describe('a client that is killed', () => {
  let server: Server
  beforeAll(async () => {
    server = await Server.start({}, { executors: 1 })
  })
  afterAll(() => server.stop())

  test.each(points)(`at point %i, ${rounds} times`, async (point) => {
    await using survivor = await connectDriver(server.path)
    for (let round = 0; round < rounds; round++) {
      const child = spawn(
        process.execPath,
        [join(import.meta.dirname, 'fixtures/client.js'), server.path, String(point)],
        { stdio: ['ignore', 'inherit', 'inherit'] },
      )
      const [, signal] = (await once(child, 'exit')) as [number | null, string | null]
      expect(signal).toBe('SIGKILL')
      using model = addModel([1, 2])
      using prepared = await survivor.prepare(model)
      using pool = createPool(64)
      prepared.run({ inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] })
      expect(floats(pool.read(8, 8))).toEqual([1, 2])
    }
    await survivor.closeAsync()
    await server.isIdle()
  })
})
