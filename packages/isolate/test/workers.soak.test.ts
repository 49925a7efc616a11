import { expect, test } from 'vitest'
import type { WorkerCall } from '../src/host/worker-call.ts'
import { Workers } from '../src/host/workers.ts'
import { Bench, DOUBLED, FAULT } from './faulty.ts'
import { type Failure, usage } from './support.ts'

const DURATION = process.env['TENON_SOAK'] === '1' ? 60_000 : 2000

/** Half of the calls are good ones. */
const FAULTS = [
  ...new Array<number>(12).fill(FAULT.NONE),
  FAULT.SEGV,
  FAULT.ABORT,
  FAULT.EXIT,
  FAULT.KILL,
  FAULT.HEAP,
  FAULT.CLOSE,
  FAULT.GARBAGE,
  FAULT.THREAD_EXIT,
  FAULT.THROW,
  FAULT.ERROR,
  FAULT.UNTIL_CANCELLED,
  FAULT.SLEEP,
  FAULT.SPIN,
]

/** The errors that a call of a good kernel can have: its own deadline and signal, and the ends of calls before it. */
const EXPECTED = new Set(['TENON_KERNEL_DEADLINE', 'AbortError', 'TENON_WORKER_LOST'])

/** Numbers from 0 that a seed determines. */
function makeRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

test('any mix of calls, crashes, deadlines and signals settles each call once, and leaves nothing', async () => {
  const random = makeRandom(20_251)
  using bench = new Bench()
  bench.call(FAULT.NONE)
  const before = usage()
  const workers = await Workers.open({ workers: 3, grace: 5, restart: { limit: Infinity, backoff: 5 }, recycle: 50 })
  const unexpected: string[] = []
  let made = 0
  const expectGood = (fault: number, outcome: PromiseSettledResult<readonly number[]>): void => {
    if (fault !== FAULT.NONE) return
    if (outcome.status === 'fulfilled') expect(outcome.value).toEqual(DOUBLED)
    else {
      const { code, name, message } = outcome.reason as Failure
      if (!EXPECTED.has(name === 'AbortError' ? name : code)) unexpected.push(message)
    }
  }
  const runOne = async (fault: number, call: WorkerCall<number[]>, isSync: boolean): Promise<void> => {
    const [outcome] = await Promise.allSettled([isSync ? (async () => workers.run(call))() : workers.runAsync(call)])
    expectGood(fault, outcome)
  }
  const runBatch = async (faults: readonly number[], calls: readonly WorkerCall<number[]>[]): Promise<void> => {
    const outcomes = await workers.runBatch(calls)
    for (const [index, outcome] of outcomes.entries()) expectGood(faults[index]!, outcome)
  }
  const end = performance.now() + DURATION
  while (performance.now() < end) {
    const running = Array.from({ length: 20 }, () => {
      const fault = FAULTS[random(FAULTS.length)]!
      const controller = new AbortController()
      if (random(8) === 0) setTimeout(() => controller.abort(), random(10))
      const options = {
        deadline: fault === FAULT.SPIN || fault === FAULT.UNTIL_CANCELLED || random(10) === 0 ? 15 : 20_000,
        signal: controller.signal,
        priority: (['low', 'medium', 'high'] as const)[random(3)]!,
        affinity: random(3) === 0 ? `key ${random(4)}` : undefined,
        idempotent: random(4) === 0,
      }
      const form = random(3)
      const faults = form === 2 ? [FAULT.NONE, FAULT.NONE, fault, FAULT.NONE] : [fault]
      made += faults.length
      const calls = faults.map((each) => bench.call(each, options))
      return form === 2 ? runBatch(faults, calls) : runOne(fault, calls[0]!, form === 0)
    })
    await Promise.all(running)
  }
  expect(workers.metrics().calls).toBe(made)
  await workers.closeAsync()
  // A kernel that damages the heap or the channel can make the next call on its worker crash.
  for (const message of unexpected) expect(message).toMatch(/crashed|ended its|damaged its worker/)
  expect(unexpected.length).toBeLessThan(made / 10)
  expect(bench.released).toBe(made)
  expect(usage()).toEqual(before)
}, 120_000)
