import { channel, tracingChannel } from 'node:diagnostics_channel'
import { isSanitized } from '@tenon/config/sanitizer'
import { describe, expect, test } from 'vitest'
import { Workers } from '../src/host/workers.ts'
import { Bench, DOUBLED, FAULT } from './faulty.ts'
import { failureOf } from './support.ts'

interface Message {
  readonly kernel: string
  readonly error: { readonly code: string }
  readonly output: string
  readonly refusedBytes?: number
}

const unlimited = { limit: Infinity, backoff: 0 }

describe('diagnostics channels', () => {
  // The allocator of AddressSanitizer does not record what it refuses.
  if (!isSanitized)
    test('each event is published on its channel, with the details of the error', async () => {
      using bench = new Bench()
      const seen: { name: string; message: Message }[] = []
      const names = ['start', 'ready', 'exit', 'crash', 'deadline', 'memory', 'restart', 'failed', 'output']
      const listeners = names.map((name) => {
        const listener = (message: unknown): void => void seen.push({ name, message: message as Message })
        channel(`tenon:isolate:${name}`).subscribe(listener)
        return () => channel(`tenon:isolate:${name}`).unsubscribe(listener)
      })
      const messagesOf = (name: string): Message[] =>
        seen.filter((event) => event.name === name).map(({ message }) => message)
      try {
        await using workers = await Workers.open({
          memory: '256 MiB',
          restart: { limit: 2, window: 600_000, backoff: 1 },
          grace: 10,
        })
        const error = await failureOf(workers.runAsync(bench.call(FAULT.SEGV)))
        // A call that waits for a worker to start would end in the queue.
        await expect.poll(() => workers.health().state).toBe('ready')
        await failureOf(workers.runAsync(bench.call(FAULT.SPIN, { deadline: 500 })))
        await failureOf(workers.runAsync(bench.call(FAULT.EAT)))
        await expect.poll(() => workers.health().state).toBe('ready')
        await workers.runAsync(bench.call(FAULT.OUTPUT))
        await failureOf(workers.runAsync(bench.call(FAULT.ABORT)))
        expect(workers.health().state).toBe('failed')
        await workers.closeAsync()
        expect(messagesOf('start').length).toBe(4)
        expect(messagesOf('ready').length).toBe(4)
        expect(messagesOf('exit').length).toBe(4)
        expect(messagesOf('restart').length).toBe(3)
        expect(messagesOf('crash')[0]).toBe(error.details)
        expect(messagesOf('crash')[0]).toMatchObject({ signal: 'SIGSEGV', kernel: 'faulty' })
        expect(messagesOf('exit')[0]).toMatchObject({ signal: 'SIGSEGV', worker: { index: 0 } })
        expect(messagesOf('deadline')).toMatchObject([{ stage: 'killed' }])
        expect(messagesOf('memory')).toMatchObject([{ refusedBytes: 2 ** 26 }])
        expect(messagesOf('crash').length).toBe(2)
        expect(messagesOf('failed')).toMatchObject([{ crashes: 3 }])
        expect(messagesOf('output')[0]!.output).toContain('!')
      } finally {
        for (const stop of listeners) stop()
      }
    })

  test.each(['exit', 'crash'])(
    'a synchronous call in a subscriber of %s is answered by the next worker',
    async (name) => {
      using bench = new Bench()
      await using workers = await Workers.open({ deadline: 10_000 })
      const results: unknown[] = []
      const called = (): void => void results.push(workers.run(bench.call(FAULT.NONE)))
      channel(`tenon:isolate:${name}`).subscribe(called)
      try {
        await failureOf(workers.runAsync(bench.call(FAULT.SEGV)))
      } finally {
        channel(`tenon:isolate:${name}`).unsubscribe(called)
      }
      expect(results).toEqual([DOUBLED])
      expect(workers.metrics()).toMatchObject({ calls: 2, restarts: 1 })
    },
  )

  test('calls are traced', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ restart: unlimited })
    const seen: string[] = []
    const subscribers = {
      start: ({ kernel }: Message) => void seen.push(`start ${kernel}`),
      end: () => void seen.push('end'),
      asyncStart: () => void seen.push('asyncStart'),
      asyncEnd: () => void seen.push('asyncEnd'),
      error: ({ error }: Message) => void seen.push(`error ${error.code}`),
    }
    const calls = tracingChannel<object, Message>('tenon:call')
    calls.subscribe(subscribers)
    try {
      workers.run(bench.call(FAULT.NONE))
      await workers.runAsync(bench.call(FAULT.NONE))
      await failureOf(() => workers.run(bench.call(FAULT.ABORT)))
    } finally {
      calls.unsubscribe(subscribers)
    }
    workers.run(bench.call(FAULT.NONE))
    expect(seen).toEqual([
      'start faulty',
      'end',
      'start faulty',
      'end',
      'asyncStart',
      'asyncEnd',
      'start faulty',
      'error TENON_KERNEL_CRASH',
      'end',
    ])
  })
})

describe('metrics() and health()', () => {
  test('metrics() counts calls, failures, times and resources', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ restart: unlimited })
    for (let round = 0; round < 5; round++) workers.run(bench.call(FAULT.NONE, { copiedBytes: 100 }))
    await failureOf(workers.runAsync(bench.call(FAULT.ERROR)))
    await failureOf(workers.runAsync(bench.call(FAULT.ABORT)))
    const slow = workers.runAsync(bench.call(FAULT.SLEEP))
    expect(workers.metrics()).toMatchObject({ queued: 0, running: 1 })
    await slow
    const metrics = workers.metrics()
    expect(metrics).toMatchObject({ calls: 8, copiedBytes: 500, retries: 0, restarts: 1, queued: 0, running: 0 })
    expect(metrics.failures).toEqual({ Error: 1, KernelCrashError: 1 })
    expect(metrics.roundTripTime.count).toBe(8)
    expect(metrics.runTime.count).toBe(7)
    expect(metrics.runTime.buckets).toHaveLength(40)
    // A sleep of 50 ms is between 2^25 and 2^30 ns.
    expect(metrics.runTime.buckets.slice(25, 30).reduce((sum, count) => sum + count)).toBe(1)
    const [worker] = metrics.workers
    expect(worker).toMatchObject({ index: 0, calls: 1 })
    expect(worker!.rssAnon).toBeGreaterThan(0)
    expect(worker!.rssShmem).toBeGreaterThan(0)
    expect(worker!.uptime).toBeGreaterThan(50)
  })

  test('health() names the kernel that runs', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ grace: 20_000 })
    const abort = new AbortController()
    const slow = failureOf(workers.runAsync(bench.call(FAULT.UNTIL_CANCELLED, { signal: abort.signal })))
    await expect.poll(() => workers.health().workers[0]!.state).toBe('running')
    expect(workers.health()).toMatchObject({ state: 'ready', workers: [{ kernel: 'faulty', index: 0, calls: 0 }] })
    abort.abort()
    await slow
    // A worker is idle a little before its answer is read.
    await expect.poll(() => workers.health().workers).toMatchObject([{ state: 'idle', kernel: undefined, calls: 1 }])
  })
})

describe('the output of workers', () => {
  test('a kernel that writes more than a pipe holds is not blocked while run() waits', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ deadline: 10_000 })
    for (let round = 0; round < 3; round++) workers.run(bench.call(FAULT.OUTPUT))
    expect(workers.run(bench.call(FAULT.NONE))).toEqual(DOUBLED)
  })

  test('an error has the output of its call, and not that of the one before', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ restart: unlimited })
    workers.run(bench.call(FAULT.OUTPUT))
    const error = await failureOf(() => workers.run(bench.call(FAULT.ERROR)))
    expect(error.details.output.length).toBeLessThan(70_000)
    workers.run(bench.call(FAULT.NONE))
    expect((await failureOf(() => workers.run(bench.call(FAULT.ERROR)))).details.output).toBe('')
  })

  test('lines that a kernel has printed and not flushed are captured', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ restart: unlimited })
    expect((await failureOf(() => workers.run(bench.call(FAULT.PRINT)))).details.output).toBe('printed\n')
  })

  test('ignored output is not captured', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ output: 'ignore', restart: unlimited })
    workers.run(bench.call(FAULT.OUTPUT))
    expect((await failureOf(() => workers.run(bench.call(FAULT.ABORT)))).details.output).toBe('')
  })
})
