import { expect, test } from 'vitest'
import { type AlivePlan, measureObjects, type Process } from '../../src/alive/measure-objects.ts'
import type { Objects } from '../../src/alive/suite.ts'

const plan: AlivePlan = { warmup: 1000, batch: 1e5, batches: 3, budget: 1e9 }

/** A process in which time passes, and memory is taken, only by what objects do. */
class FakeProcess implements Process {
  now = 0
  bytes = 5e7
  alive = 0
  mostAlive = 0
  squeezes = 0

  readonly clock = (): number => this.now
  readonly residentBytes = (): number => this.bytes
  readonly memoryUsage = (): { heapUsed: number; external: number } => ({
    heapUsed: this.alive * 40,
    external: this.alive * 8,
  })
  readonly squeeze = (): Promise<void> => {
    this.squeezes++
    return Promise.resolve()
  }

  /** Objects of 200 bytes, of which `leak` bytes are never given back. */
  objects(make: number, end: number, leak = 0): Objects {
    return {
      make: (index) => {
        this.now += make
        this.bytes += 200
        this.alive++
        this.mostAlive = Math.max(this.mostAlive, this.alive)
        return index
      },
      end: () => {
        this.now += end
        this.bytes -= 200 - leak
        this.alive--
      },
    }
  }
}

test.for([1, 100])('measureObjects() returns the time of an object with %d alive', async (alive) => {
  const tools = new FakeProcess()
  const sample = await measureObjects(tools.objects(300, 50), alive, plan, tools)
  expect(sample).toEqual({ alive, life: 350, make: alive === 1 ? 350 : 300 })
  expect(tools).toMatchObject({ alive: 0, mostAlive: alive })
})

test('measureObjects() returns the resident bytes of many objects, with all of them alive', async () => {
  const tools = new FakeProcess()
  const { memory, ...times } = await measureObjects(tools.objects(300, 50), 10_000, plan, tools)
  expect(times).toEqual({ alive: 10_000, life: 350, make: 300 })
  expect(memory).toEqual({ start: 5e7, filled: 5.2e7, ended: 5e7, leak: 0, heap: 4e5, external: 8e4 })
  expect(tools).toMatchObject({ alive: 0, mostAlive: 10_000, squeezes: 5 })
})

test('measureObjects() finds memory that each round leaves behind', async () => {
  const tools = new FakeProcess()
  const { memory } = await measureObjects(tools.objects(300, 50, 24), 10_000, plan, tools)
  expect(memory).toMatchObject({ leak: 24 })
  expect(memory!.ended - memory!.start).toBe(24 * 10_000)
})

test('measureObjects() repeats slow fillings only within the budget', async () => {
  const tools = new FakeProcess()
  let made = 0
  const objects = tools.objects(1e6, 0)
  const counted = { ...objects, make: (index: number) => (made++, objects.make(index)) }
  await measureObjects(counted, 10_000, { ...plan, warmup: 0, budget: 1 }, tools)
  expect(made).toBe(3 * 10_000)
})

test('measureObjects() ends the oldest object first', async () => {
  const ended: unknown[] = []
  const tools = new FakeProcess()
  const { make } = tools.objects(1e6, 0)
  await measureObjects({ make, end: (index) => void ended.push(index) }, 3, { ...plan, warmup: 0, batches: 1 }, tools)
  expect(ended).toEqual([0, 1, 2])
})
