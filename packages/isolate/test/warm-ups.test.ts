import { eventually } from '@tenon/config/eventually'
import { expect, test } from 'vitest'
import { CrashLoopError } from '../src/host/errors.ts'
import { Workers } from '../src/host/workers.ts'
import { Bench, DOUBLED, FAULT } from './faulty.ts'
import { failureOf, usage } from './support.ts'

const unlimited = { limit: Infinity, backoff: 0 }

/** The process that runs a call. */
async function processOf(workers: Workers, bench: Bench, affinity?: string): Promise<number> {
  let process = 0
  const call = bench.call(FAULT.NONE)
  const read = (...[answer, worker]: Parameters<typeof call.read>): unknown => {
    process = worker.process
    return call.read(answer, worker)
  }
  await workers.runAsync({ ...call, read, affinity })
  return process
}

test('a warm-up reaches each worker, and each that replaces another one before other calls do', async () => {
  using bench = new Bench()
  await using workers = await Workers.open({ workers: 3, restart: unlimited })
  const warm: number[] = []
  const end = await workers.warmUp(async (affinity) => {
    for (let i = 0; i < 3; i++) warm.push(await processOf(workers, bench, affinity))
  })
  const processes = workers.health().workers.map(({ process }) => process)
  expect(warm.toSorted()).toEqual(processes.flatMap((process) => [process, process, process]).toSorted())
  // One worker first, which alone ends if the warm-up ends it.
  expect(new Set(warm.slice(0, 3)).size).toBe(1)

  warm.length = 0
  for (let i = 0; i < 3; i++) await failureOf(workers.runAsync({ ...bench.call(FAULT.SEGV), affinity: `${i}` }))
  const ran = await Promise.all(Array.from({ length: 30 }, () => processOf(workers, bench)))
  for (const process of ran) if (!processes.includes(process)) expect(warm).toContain(process)
  await eventually(() => expect(warm).toHaveLength(9))

  end()
  warm.length = 0
  await workers.restart()
  expect(await processOf(workers, bench)).toBeGreaterThan(0)
  expect(warm).toEqual([])
})

test('calls wait for the warm-up of a worker, and a synchronous call does not', async () => {
  using bench = new Bench()
  await using workers = await Workers.open({ restart: unlimited })
  let [release, begun] = [(): void => {}, 0]
  let held = Promise.resolve()
  await workers.warmUp(async (affinity) => {
    begun++
    await held
    await workers.runAsync({ ...bench.call(FAULT.NONE), affinity })
  })
  held = new Promise((resolve) => (release = resolve))
  await failureOf(workers.runAsync(bench.call(FAULT.SEGV)))
  let isAnswered = false
  const waiting = workers.runAsync(bench.call(FAULT.NONE)).then((value) => {
    isAnswered = true
    return value
  })
  await eventually(() => expect(begun).toBe(2))
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(isAnswered).toBe(false)
  // It would wait for ever for a function that its own thread must run, and lets the calls before it go on too.
  expect(workers.run(bench.call(FAULT.NONE))).toEqual(DOUBLED)
  expect(await waiting).toEqual(DOUBLED)
  release()
  await eventually(() => expect(workers.health().state).toBe('ready'))
  expect(await workers.runAsync(bench.call(FAULT.NONE))).toEqual(DOUBLED)
})

test('a warm-up that fails at first rejects, and leaves nothing', async () => {
  const before = usage()
  {
    using bench = new Bench()
    await using workers = await Workers.open({ workers: 2, restart: unlimited })
    let runs = 0
    const warmUp = async (affinity: string): Promise<void> => {
      runs++
      await workers.runAsync({ ...bench.call(FAULT.ABORT), affinity })
    }
    expect(await failureOf(workers.warmUp(warmUp))).toMatchObject({ code: 'TENON_KERNEL_CRASH' })
    expect(runs).toBe(1)
    expect(await workers.runAsync(bench.call(FAULT.NONE))).toEqual(DOUBLED)
    expect(runs).toBe(1)
  }
  await eventually(() => expect(usage()).toEqual(before))
})

test('a warm-up that fails later counts as a crash, and at last as a crash loop', async () => {
  using bench = new Bench()
  await using workers = await Workers.open({ restart: { limit: 3, window: 60_000, backoff: 0 } })
  let isBroken = false
  let starts = 0
  await workers.warmUp(async (affinity) => {
    starts++
    await workers.runAsync({ ...bench.call(FAULT.NONE), affinity })
    if (isBroken) throw new Error('the weights are missing')
  })
  isBroken = true
  await failureOf(workers.runAsync(bench.call(FAULT.SEGV)))
  const error = await failureOf(workers.runAsync(bench.call(FAULT.NONE)))
  expect(error).toBeInstanceOf(CrashLoopError)
  expect((error.cause as Error).message).toContain('its warm-up failed: the weights are missing')
  expect(starts).toBe(4)
  isBroken = false
  await workers.restart()
  expect(await workers.runAsync(bench.call(FAULT.NONE))).toEqual(DOUBLED)
})

test('closing during a warm-up ends it', async () => {
  const before = usage()
  const bench = new Bench()
  const workers = await Workers.open({ restart: unlimited })
  let second: Promise<unknown> = Promise.resolve()
  let runs = 0
  await workers.warmUp((affinity) => {
    const run = workers.runAsync({ ...bench.call(runs++ === 0 ? FAULT.NONE : FAULT.HANG), affinity })
    if (runs > 1) second = failureOf(run)
    return run
  })
  await failureOf(workers.runAsync(bench.call(FAULT.SEGV)))
  await eventually(() => expect(runs).toBe(2))
  await workers.closeAsync({ deadline: 50 })
  expect(await second).toMatchObject({ message: expect.stringContaining('the workers are closed') })
  bench[Symbol.dispose]()
  await eventually(() => expect(usage()).toEqual(before))
})
