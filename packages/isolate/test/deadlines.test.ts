import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { KernelDeadlineError } from '@tenon/core'
import { Workers } from '../src/host/workers.ts'
import { Bench, DOUBLED, FAULT } from './faulty.ts'
import { failureOf } from './support.ts'

describe('the deadline of a call', () => {
  test('the deadline counts from the call, and includes the queue', async () => {
    using bench = new Bench()
    await using workers = await Workers.open()
    const abort = new AbortController()
    const busy = failureOf(workers.runAsync(bench.call(FAULT.UNTIL_CANCELLED, { signal: abort.signal })))
    const error = await failureOf(workers.runAsync(bench.call(FAULT.NONE, { deadline: 5 })))
    expect(error).toBeInstanceOf(KernelDeadlineError)
    expect(error.message).toContain('faulty did not begin within 5 ms')
    expect(error.details).toMatchObject({ kernel: 'faulty', deadline: 5, stage: 'queued' })
    expect(error.details.elapsed).toBeGreaterThanOrEqual(5)
    // No worker had the call.
    expect(Object.keys(error.details)).not.toContain('worker')
    abort.abort()
    await busy
    await expect.poll(() => bench.released).toBe(2)
  })

  test('the elapsed time has whole microseconds', async () => {
    using bench = new Bench()
    await using workers = await Workers.open()
    for (let round = 0; round < 8; round++) {
      const { details } = await failureOf(() => workers.run(bench.call(FAULT.UNTIL_CANCELLED, { deadline: 2 })))
      expect(String(details.elapsed)).toMatch(/^\d+(\.\d{1,3})?$/)
      expect(details.worker).toMatchObject({ index: 0 })
    }
  })

  test('the hint says whether a call waited for other calls or for the start of a worker after crashes', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ restart: { limit: 100 } })
    const abort = new AbortController()
    const busy = failureOf(workers.runAsync(bench.call(FAULT.UNTIL_CANCELLED, { signal: abort.signal })))
    const behind = await failureOf(workers.runAsync(bench.call(FAULT.NONE, { deadline: 5 })))
    expect(behind.hint).toContain('Use more workers')
    abort.abort()
    await busy
    for (let crash = 0; crash < 6; crash++) await failureOf(() => workers.run(bench.call(FAULT.SEGV)))
    const waiting = await failureOf(() => workers.run(bench.call(FAULT.NONE, { deadline: 5 })))
    expect(waiting.hint).toContain('The workers crashed, and start again')
  })

  test('an infinite deadline is allowed, and a default one comes from the options', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ deadline: 20 })
    expect(workers.run(bench.call(FAULT.SLEEP, { deadline: Infinity }))).toEqual(DOUBLED)
    expect((await failureOf(() => workers.run(bench.call(FAULT.SPIN)))).details.deadline).toBe(20)
  })

  test.each([Number.MAX_SAFE_INTEGER, 1e300, Infinity])(
    'a deadline of %d ms, and as long a grace, do not pass',
    async (time) => {
      using bench = new Bench()
      await using workers = await Workers.open({ deadline: time, grace: time, restart: { limit: 0 } })
      const abort = new AbortController()
      const call = workers.runAsync(bench.call(FAULT.UNTIL_CANCELLED, { signal: abort.signal }))
      expect(await Promise.race([call.catch(() => 'ended'), sleep(100, 'running')])).toBe('running')
      abort.abort()
      expect((await failureOf(call)).name).toBe('AbortError')
      expect(workers.run(bench.call(FAULT.NONE))).toEqual(DOUBLED)
    },
  )
})

describe('a call beyond its deadline', () => {
  const forms = [
    ['runAsync', async (workers: Workers, call: Parameters<Workers['run']>[0]) => workers.runAsync(call)],
    ['run', async (workers: Workers, call: Parameters<Workers['run']>[0]) => workers.run(call)],
    [
      'runBatch',
      async (workers: Workers, call: Parameters<Workers['run']>[0]) => {
        const [outcome] = await workers.runBatch([call])
        if (outcome!.status === 'rejected') throw outcome!.reason
        return outcome!.value
      },
    ],
  ] as const

  test.each(forms)('%s: a kernel that is cancelled returns, and its worker stays', async (_, run) => {
    using bench = new Bench()
    await using workers = await Workers.open({ grace: 20_000 })
    const { process } = workers.health().workers[0]!
    const error = await failureOf(run(workers, bench.call(FAULT.UNTIL_CANCELLED, { deadline: 100 })))
    expect(error).toBeInstanceOf(KernelDeadlineError)
    expect(error.message).toContain('faulty did not finish within 100 ms and was cancelled')
    expect(error.details).toMatchObject({ stage: 'cancelled', worker: { index: 0, process } })
    expect(workers.run(bench.call(FAULT.NONE))).toEqual(DOUBLED)
    expect(workers.health().workers[0]!.process).toBe(process)
  })

  test.each(forms)('%s: a kernel that hangs in a worker that has just started has begun', async (_, run) => {
    using bench = new Bench()
    await using workers = await Workers.open({ grace: 20 })
    for (const fault of [FAULT.SEGV, FAULT.HANG]) {
      const error = await failureOf(run(workers, bench.call(fault, { deadline: 300 })))
      expect(error.details['stage']).toBe(fault === FAULT.HANG ? 'killed' : undefined)
    }
  })

  test.each(forms)('%s: a kernel that spins or hangs is killed after the grace', async (_, run) => {
    using bench = new Bench()
    await using workers = await Workers.open({ grace: 20 })
    for (const fault of [FAULT.SPIN, FAULT.HANG]) {
      const { process } = workers.health().workers[0]!
      const error = await failureOf(run(workers, bench.call(fault, { deadline: 30 })))
      expect(error.message).toContain('faulty did not finish within 30 ms and was killed')
      expect(error.details).toMatchObject({ stage: 'killed', worker: { index: 0, process } })
      expect(await run(workers, bench.call(FAULT.NONE))).toEqual(DOUBLED)
    }
    expect(bench.released).toBe(4)
  })

  test('missed deadlines do not count as crashes', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ grace: 0, restart: { limit: 0 } })
    for (let round = 0; round < 20; round++) {
      await expect(workers.runAsync(bench.call(FAULT.SPIN, { deadline: round % 4 || 0.5 }))).rejects.toThrow(
        KernelDeadlineError,
      )
    }
    expect(workers.health().state).not.toBe('failed')
  })
})

describe('deadlines of several calls', () => {
  test('a synchronous call that waits enforces the deadlines of asynchronous ones', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ workers: 2, grace: 20 })
    const spin = failureOf(workers.runAsync(bench.call(FAULT.SPIN, { deadline: 30 })))
    const { process } = workers.health().workers[0]!
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(() => workers.run(bench.call(FAULT.HANG, { deadline: 300 }))).toThrow(KernelDeadlineError)
    expect(workers.health().workers[0]!.process).not.toBe(process)
    expect((await spin).details.stage).toBe('killed')
  })

  test('calls of a batch behind one that hangs run in time in another worker, or miss their own deadline', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ grace: 20 })
    const outcomes = await workers.runBatch([
      bench.call(FAULT.HANG, { deadline: 60 }),
      bench.call(FAULT.NONE, { deadline: 20 }),
      bench.call(FAULT.NONE, { deadline: 5000 }),
    ])
    expect(outcomes).toMatchObject([
      { reason: { details: { stage: 'killed' } } },
      { reason: { details: { stage: 'queued', deadline: 20 } } },
      { value: DOUBLED },
    ])
  })
})
