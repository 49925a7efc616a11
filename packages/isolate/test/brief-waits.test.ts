import { channel } from 'node:diagnostics_channel'
import { describe, expect, test } from 'vitest'
import { BriefWaits } from '../src/host/brief-waits.ts'
import { KernelCrashError } from '../src/host/errors.ts'
import { Execution } from '../src/host/execution.ts'
import { Pace } from '../src/host/known-objects.ts'
import { Workers } from '../src/host/workers.ts'
import { Bench, DOUBLED, FAULT } from './faulty.ts'
import { failureOf } from './support.ts'

// An asynchronous call of a kernel that was short before is answered while the call is made, so its metrics show it at once.

/** Runs a short kernel until a call of it was waited for. */
async function warmUp(bench: Bench, workers: Workers): Promise<void> {
  await expect
    .poll(async () => {
      const { calls } = workers.metrics()
      const answer = workers.runAsync(bench.call(FAULT.NONE))
      const wasWaitedFor = workers.metrics().calls > calls
      expect(await answer).toEqual(DOUBLED)
      return wasWaitedFor
    })
    .toBe(true)
}

describe('an asynchronous call of a short kernel', () => {
  test('is answered while it is made, and a first call and one of a long kernel are not', async () => {
    using bench = new Bench()
    await using workers = await Workers.open()
    const first = workers.runAsync(bench.call(FAULT.NONE))
    expect(workers.metrics().calls).toBe(0)
    expect(await first).toEqual(DOUBLED)
    await warmUp(bench, workers)
    const { calls } = workers.metrics()
    const long = workers.runAsync(bench.call(FAULT.SLEEP))
    expect(workers.metrics().calls).toBe(calls)
    expect(await long).toEqual(DOUBLED)
    // The kernel is the same one, and its last call was long.
    const next = workers.runAsync(bench.call(FAULT.NONE))
    expect(workers.metrics().calls).toBe(calls + 1)
    expect(await next).toEqual(DOUBLED)
  })

  test('is one after the other what the worker does, also for calls that wait in the queue', async () => {
    using bench = new Bench()
    await using workers = await Workers.open()
    await warmUp(bench, workers)
    const answers = Array.from({ length: 200 }, () => workers.runAsync(bench.call(FAULT.NONE)))
    expect(await Promise.all(answers)).toEqual(answers.map(() => DOUBLED))
    expect(workers.metrics()).toMatchObject({ queued: 0, running: 0, failures: {} })
    expect(bench.released).toBe(workers.metrics().calls)
  })

  test('runs behind the first call of its batch, which was taken back in the queue', async () => {
    using bench = new Bench()
    await using workers = await Workers.open()
    await warmUp(bench, workers)
    const long = workers.runAsync(bench.call(FAULT.SLEEP))
    const abort = new AbortController()
    const batch = workers.runBatch([bench.call(FAULT.NONE, { signal: abort.signal }), bench.call(FAULT.NONE)])
    abort.abort()
    expect(await batch).toMatchObject([{ status: 'rejected' }, { status: 'fulfilled', value: DOUBLED }])
    expect(await long).toEqual(DOUBLED)
  })

  test('that replaces its worker does not stop a synchronous call of a subscriber', async () => {
    using bench = new Bench()
    using slow = new Bench()
    await using workers = await Workers.open({ workers: 2, recycle: 40, grace: 5000, deadline: 10_000 })
    // Each worker has 30 calls, and the one that sleeps gets 10 more.
    for (let i = 0; i < 60; i++) workers.run(bench.call(FAULT.NONE))
    const results: unknown[] = []
    const called = (): void => void results.push(workers.run(bench.call(FAULT.NONE)))
    const calls = [
      failureOf(workers.runAsync(slow.call(FAULT.UNTIL_CANCELLED, { deadline: 500 }))),
      workers.runAsync(slow.call(FAULT.SLEEP)),
      ...Array.from({ length: 15 }, () => workers.runAsync(bench.call(FAULT.NONE))),
    ]
    channel('tenon:isolate:exit').subscribe(called)
    try {
      await Promise.all(calls)
    } finally {
      channel('tenon:isolate:exit').unsubscribe(called)
    }
    expect(results).toEqual([DOUBLED])
  })

  test('leaves the other events of the event loop their turns, however many are awaited in a row', async () => {
    using bench = new Bench()
    await using workers = await Workers.open()
    await warmUp(bench, workers)
    for (const later of [setImmediate, (run: () => void) => setTimeout(run, 1)]) {
      const turns: number[] = []
      let calls = 0
      later(() => turns.push(calls))
      while (turns.length === 0) {
        expect(calls++).toBeLessThan(10_000)
        await workers.runAsync(bench.call(FAULT.NONE))
      }
    }
  })

  test('is not waited for after 1 ms of a turn of the event loop', async () => {
    using bench = new Bench()
    const options = { deadline: Infinity, isIdempotent: false, isAsync: true, isLoad: false, isWarmUp: false }
    const execution = new Execution(bench.call(FAULT.NONE), 1, -1, options, 0) as Execution
    execution.known = { id: 1, failure: undefined, isPending: false, pace: new Pace() }
    execution.known.pace.answered(1)
    let now = 500
    let time = 0.3
    const worker = { hasOnly: () => true, exchange: () => ((now += time), 'changed' as const) }
    const waits = new BriefWaits(() => now)
    const calls = (count: number): boolean[] => Array.from({ length: count }, () => waits.wait(worker, execution))
    expect(calls(6)).toEqual([true, true, true, true, false, false])
    await new Promise((resolve) => setImmediate(resolve))
    // Time between the waits does not count, nor do turns that end before.
    time = 0.6
    expect(calls(1)).toEqual([true])
    now += 1000
    expect(calls(3)).toEqual([true, false, false])
    await new Promise((resolve) => setImmediate(resolve))
    expect(calls(1)).toEqual([true])
    execution.release()
  })

  test('rejects if the worker crashes in it, and the next one runs in another worker', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ restart: { limit: Infinity, backoff: 0 } })
    for (let round = 0; round < 5; round++) {
      await warmUp(bench, workers)
      expect(await failureOf(workers.runAsync(bench.call(FAULT.SEGV)))).toBeInstanceOf(KernelCrashError)
      expect(await workers.runAsync(bench.call(FAULT.NONE))).toEqual(DOUBLED)
    }
  })

  test('rejects with the error that the kernel reports, and at its deadline', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ restart: { limit: Infinity, backoff: 0 }, grace: 10 })
    await warmUp(bench, workers)
    expect(await failureOf(workers.runAsync(bench.call(FAULT.ERROR)))).toMatchObject({ name: 'Error' })
    await warmUp(bench, workers)
    expect(await failureOf(workers.runAsync(bench.call(FAULT.HANG, { deadline: 50 })))).toMatchObject({
      code: 'TENON_KERNEL_DEADLINE',
    })
  })

  test('that calls a function of this process is not waited for', async () => {
    using bench = new Bench()
    await using workers = await Workers.open()
    await warmUp(bench, workers)
    const { calls } = workers.metrics()
    const answer = workers.runAsync(bench.call(FAULT.NONE, { callBack: () => new Uint8Array(0) }))
    expect(workers.metrics().calls).toBe(calls)
    expect(await answer).toEqual(DOUBLED)
  })

  test('can be aborted if it was not answered at once, and its signal has no listener afterwards', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ restart: { limit: Infinity, backoff: 0 }, grace: 10 })
    await warmUp(bench, workers)
    const controller = new AbortController()
    const { signal } = controller
    await workers.runAsync(bench.call(FAULT.NONE, { signal }))
    const hanging = failureOf(workers.runAsync(bench.call(FAULT.HANG, { signal })))
    const mine = new Error('mine')
    controller.abort(mine)
    expect(await hanging).toBe(mine)
    expect(await failureOf(workers.runAsync(bench.call(FAULT.NONE, { signal })))).toBe(mine)
  })
})

describe('the pace of a kernel', () => {
  test('is short after an answer in less than 50 us', () => {
    const pace = new Pace()
    expect(pace.takeTurn()).toBe(false)
    pace.answered(49_999)
    expect(pace.takeTurn()).toBe(true)
    pace.answered(50_000)
    expect(pace.takeTurn()).toBe(false)
  })

  test('after waits in vain, twice as many calls as before are not waited for, at most 1024', () => {
    const pace = new Pace()
    pace.answered(1)
    const skips: number[] = []
    for (let round = 0; round < 13; round++) {
      let skipped = 0
      while (!pace.takeTurn()) skipped++
      skips.push(skipped)
      pace.waited(false)
    }
    expect(skips).toEqual([0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024])
    for (let i = 0; i < 1024; i++) expect(pace.takeTurn()).toBe(false)
    pace.waited(true)
    expect(pace.takeTurn()).toBe(true)
    expect(pace.takeTurn()).toBe(true)
  })
})
