import { isSanitized } from '@tenon/config/sanitizer'
import { describe, expect, test } from 'vitest'
import { ScopeClosedError } from '@tenon/core'
import { CrashLoopError, KernelCrashError, KernelMemoryError } from '../src/host/errors.ts'
import { Workers } from '../src/host/workers.ts'
import { Bench, DOUBLED, FAULT } from './faulty.ts'
import { failureOf, isRunning, usage } from './support.ts'

const unlimited = { limit: Infinity, backoff: 0 }

const FAULTS: readonly (readonly [keyof typeof FAULT, object, RegExp])[] = [
  [
    'SEGV',
    { signal: 'SIGSEGV', address: '0xdead000', access: 'write' },
    /crashed: SIGSEGV writing at address 0xdead000/,
  ],
  ['NULL', { signal: 'SIGSEGV', address: '0x8', access: 'write' }, /crashed: SIGSEGV writing at address 0x8/],
  ['ABORT', { signal: 'SIGABRT' }, /crashed: SIGABRT/],
  ['STACK', { signal: 'SIGSEGV', stackOverflow: true }, /crashed: SIGSEGV because its stack is full/],
  ['EXIT', { exitCode: 3 }, /ended its process with exit code 3/],
  ['EXIT_NOW', { exitCode: 0 }, /ended its process with exit code 0/],
  ['TRAP', { signal: 'SIGILL' }, /crashed: SIGILL/],
  ['KILL', { signal: 'SIGKILL' }, /crashed: SIGKILL/],
  ['HEAP', {}, /crashed: SIG(ABRT|SEGV)/],
  ['THREAD_THROW', { signal: 'SIGABRT' }, /crashed: SIGABRT/],
  ['THREAD_EXIT', {}, /ended its main thread/],
  ['DIVIDE', { signal: 'SIGFPE' }, /crashed: SIGFPE/],
  ['NON_CANONICAL', { signal: 'SIGSEGV' }, /crashed: SIGSEGV/],
  ['BUS', { signal: 'SIGBUS' }, /crashed: SIGBUS/],
  ['THREAD_SEGV', { signal: 'SIGSEGV' }, /crashed: SIGSEGV/],
]

describe('a crash', () => {
  test.each(FAULTS)(
    '%s is one error, however the call is made, and the next call works',
    async (name, details, message) => {
      using bench = new Bench()
      await using workers = await Workers.open({ restart: unlimited })
      const fault = FAULT[name]
      const errors = [
        await failureOf(() => workers.run(bench.call(fault))),
        await failureOf(workers.runAsync(bench.call(fault))),
        ((await workers.runBatch([bench.call(fault)])) as [PromiseRejectedResult])[0].reason,
      ]
      for (const error of errors) {
        expect(error).toBeInstanceOf(KernelCrashError)
        expect(error.code).toBe('TENON_KERNEL_CRASH')
        expect(error.message).toMatch(message)
        expect(error.details).toMatchObject({ kernel: 'faulty', worker: { index: 0 }, ...details })
      }
      expect(workers.run(bench.call(FAULT.NONE))).toEqual(DOUBLED)
      expect(bench.released).toBe(4)
    },
  )

  test.each([
    ['SEGV', /^Use guard: true to find/],
    ['NULL', /^Find the null pointer with details\.backtrace\./],
    ['ABORT', /^Read details\.backtrace\./],
    ['DIVIDE', /^Read details\.backtrace\./],
    ['STACK', /^Use less recursion/],
    ['EXIT', /^Let the kernel return an error/],
    ['KILL', /lack of memory/],
  ] as const)('the hint of %s fits how the worker ended', async (name, hint) => {
    using bench = new Bench()
    await using workers = await Workers.open({ restart: unlimited })
    expect((await failureOf(() => workers.run(bench.call(FAULT[name])))).hint).toMatch(hint)
  })

  test('the backtrace begins with the kernel, and not with the handler of the signal', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ restart: unlimited })
    const { details } = await failureOf(() => workers.run(bench.call(FAULT.SEGV)))
    const backtrace = details.backtrace as string[]
    expect(backtrace[0]).toMatch(/^write_bad_address faults\.c:\d+ \((?:inlined, )?libfaulty\.so\+0x[0-9a-f]+\)$/)
    expect(backtrace.at(-1)).toMatch(/^faulty_status kernels\.c:\d+ \(libfaulty\.so\+0x[0-9a-f]+\)$/)
  })

  test.each(['CLOSE', 'GARBAGE', 'EXEC', 'FORK', 'THROW', 'ERROR'] as const)(
    '%s is an error or nothing, and later calls are right',
    async (name) => {
      using bench = new Bench()
      await using workers = await Workers.open({ restart: unlimited })
      for (let round = 0; round < 3; round++) {
        await Promise.allSettled([workers.runAsync(bench.call(FAULT[name]))])
        // A worker whose channel is damaged may be found by the next call.
        await Promise.allSettled([workers.runAsync(bench.call(FAULT.NONE))])
        expect(await workers.runAsync(bench.call(FAULT.NONE, { idempotent: true }))).toEqual(DOUBLED)
      }
    },
  )

  test('a worker that is killed while it is idle is replaced, and no call is lost', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ restart: unlimited })
    workers.run(bench.call(FAULT.NONE))
    for (let round = 0; round < 5; round++) {
      process.kill(workers.health().workers[0]!.process, 'SIGKILL')
      expect(workers.run(bench.call(FAULT.NONE))).toEqual(DOUBLED)
      process.kill(workers.health().workers[0]!.process, 'SIGKILL')
      expect(await workers.runAsync(bench.call(FAULT.NONE))).toEqual(DOUBLED)
    }
  })
})

describe('the calls before a crash', () => {
  test('a crash names the kernels that the worker ran before', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ restart: unlimited })
    for (let round = 0; round < 10; round++) workers.run(bench.call(FAULT.NONE))
    const error = await failureOf(() => workers.run(bench.call(FAULT.ABORT)))
    expect(error.details.previous).toEqual(new Array(8).fill('faulty'))
    expect(error.hint).toContain('recycle: 1')
    expect((await failureOf(() => workers.run(bench.call(FAULT.ABORT)))).details.previous).toEqual([])
  })

  test('recycle gives each worker a number of calls', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ recycle: 2 })
    const processes: number[] = []
    for (let round = 0; round < 6; round++) {
      processes.push(await workers.runAsync(bench.call(FAULT.NONE)).then(() => workers.health().workers[0]!.process))
    }
    expect(new Set(processes).size).toBe(4)
    expect(workers.metrics().failures).toEqual({})
    expect(workers.run(bench.call(FAULT.NONE))).toEqual(DOUBLED)
  })
})

describe('the delay of restarts', () => {
  test('the first crash costs no time, the next ones do, and a success forgets them', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ restart: { limit: Infinity, backoff: 200 } })
    const crash = async (): Promise<void> => {
      await failureOf(workers.runAsync(bench.call(FAULT.ABORT)))
    }
    await crash()
    expect(workers.health().workers[0]!.process).not.toBe(0)
    await crash()
    expect(workers.health()).toMatchObject({ state: 'restarting', workers: [{ state: 'restarting', process: 0 }] })
    expect(await workers.runAsync(bench.call(FAULT.NONE))).toEqual(DOUBLED)
    await crash()
    expect(workers.health().workers[0]!.process).not.toBe(0)
  })

  test('too many crashes reject calls until restart()', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ restart: { limit: 2, backoff: 1 } })
    const outcomes = await Promise.allSettled(
      [FAULT.ABORT, FAULT.ABORT, FAULT.ABORT, FAULT.NONE].map(async (fault) => workers.runAsync(bench.call(fault))),
    )
    expect(outcomes.slice(0, 3)).toMatchObject(
      Array.from({ length: 3 }, () => ({ reason: { code: 'TENON_KERNEL_CRASH' } })),
    )
    const { reason } = outcomes[3] as PromiseRejectedResult
    expect(reason).toBeInstanceOf(CrashLoopError)
    expect(reason.message).toContain('the workers must not crash more than 2 times within 10000 ms')
    expect(reason.details).toMatchObject({ crashes: 3, window: 10_000 })
    expect(reason.cause).toBeInstanceOf(KernelCrashError)
    expect(workers.health()).toMatchObject({ state: 'failed', failure: { code: 'TENON_CRASH_LOOP' } })
    expect(() => workers.run(bench.call(FAULT.NONE))).toThrow(CrashLoopError)
    await expect(workers.runAsync(bench.call(FAULT.NONE))).rejects.toThrow(CrashLoopError)
    await workers.restart()
    expect(workers.health().state).toBe('ready')
    expect(workers.run(bench.call(FAULT.NONE))).toEqual(DOUBLED)
  })

  test('restart() replaces workers after the calls that they have', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ workers: 2 })
    const before = workers.health().workers.map(({ process }) => process)
    const slow = workers.runAsync(bench.call(FAULT.SLEEP))
    await workers.restart()
    expect(await slow).toEqual(DOUBLED)
    for (const { process } of workers.health().workers) expect(before).not.toContain(process)
    expect(workers.run(bench.call(FAULT.NONE))).toEqual(DOUBLED)
  })
})

describe('retries', () => {
  test('only calls declared idempotent are retried, and once', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ restart: unlimited })
    await expect(workers.runAsync(bench.call(FAULT.ABORT, { idempotent: true }))).rejects.toThrow(KernelCrashError)
    expect(workers.metrics()).toMatchObject({ retries: 1, failures: { KernelCrashError: 1 } })
    await expect(workers.runAsync(bench.call(FAULT.ABORT))).rejects.toThrow(KernelCrashError)
    expect(workers.metrics().retries).toBe(1)
    await expect(workers.runAsync(bench.call(FAULT.SPIN, { idempotent: true, deadline: 20 }))).rejects.toThrow(/within/)
    expect(workers.metrics().retries).toBe(1)
    expect(() => workers.run(bench.call(FAULT.ABORT, { idempotent: true }))).toThrow(KernelCrashError)
    expect(workers.metrics().retries).toBe(2)
    expect(bench.released).toBe(4)
  })

  test('a retried call can succeed in the new worker', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ restart: unlimited, idempotent: true })
    // On a busy machine the kernel may be over before it was seen to run, or before its worker is killed.
    while (workers.metrics().retries === 0) {
      const running = workers.runAsync(bench.call(FAULT.SLEEP))
      let isOver = false
      void running.finally(() => (isOver = true))
      await expect.poll(() => isOver || workers.health().workers[0]!.state === 'running', { interval: 5 }).toBe(true)
      if (!isOver) process.kill(workers.health().workers[0]!.process, 'SIGKILL')
      expect(await running).toEqual(DOUBLED)
    }
    expect(workers.metrics().retries).toBe(1)
  })
})

describe('the resources of workers', () => {
  test('no descriptor, mapping or child of ended workers is left', async () => {
    using bench = new Bench()
    bench.call(FAULT.NONE)
    const empty = usage()
    {
      await using workers = await Workers.open({ workers: 2, restart: unlimited })
      workers.run(bench.call(FAULT.NONE))
      const before = usage()
      const processes = new Set<number>()
      for (const [name] of FAULTS) {
        for (const { process } of workers.health().workers) processes.add(process)
        await failureOf(workers.runAsync(bench.call(FAULT[name])))
        await failureOf(() => workers.run(bench.call(FAULT[name])))
      }
      await expect.poll(() => workers.health().state).toBe('ready')
      expect(usage()).toEqual(before)
      const alive = new Set(workers.health().workers.map(({ process }) => process))
      for (const process of processes) expect(isRunning(process)).toBe(alive.has(process))
    }
    expect(usage()).toEqual(empty)
  })

  test('starts that fail leave nothing', async () => {
    const before = usage()
    for (let round = 0; round < 5; round++) {
      await expect(
        Workers.open({
          workers: 2,
          // The loader prints the libraries and exits.
          env: { LD_TRACE_LOADED_OBJECTS: '1' },
          restart: { limit: 1, backoff: 1 },
        }),
      ).rejects.toThrow(CrashLoopError)
    }
    expect(usage()).toEqual(before)
  })
})

// The allocator of AddressSanitizer does not record what it refuses.
if (!isSanitized)
  describe('the limit of memory', () => {
    test('a refused allocation makes a crash a KernelMemoryError, which is not retried', async () => {
      using bench = new Bench()
      await using workers = await Workers.open({ memory: '256 MiB', restart: unlimited, idempotent: true })
      for (const run of [
        async () => workers.run(bench.call(FAULT.EAT)),
        async () => workers.runAsync(bench.call(FAULT.EAT)),
      ]) {
        const error = await failureOf(run())
        expect(error).toBeInstanceOf(KernelMemoryError)
        expect(error.message).toContain('faulty needed 67108864 bytes more than the 268435456 bytes')
        expect(error.details).toMatchObject({
          limit: 2 ** 28,
          refusedBytes: 2 ** 26,
          source: 'rlimit',
          kernel: 'faulty',
        })
        expect(error.cause).toBeInstanceOf(KernelCrashError)
      }
      expect(workers.metrics().retries).toBe(0)
    })
  })

test('in guard mode a write to an operand names the operand and the byte', async () => {
  using bench = new Bench()
  await using workers = await Workers.open({ guard: true, restart: unlimited })
  expect(workers.run(bench.call(FAULT.NONE))).toEqual(DOUBLED)
  for (const run of [
    async () => workers.run(bench.call(FAULT.WRITE_OPERAND)),
    async () => workers.runAsync(bench.call(FAULT.WRITE_OPERAND)),
  ]) {
    const error = await failureOf(run())
    expect(error.message).toContain('faulty crashed: SIGSEGV writing at byte 12 of operand 1, which has 64 bytes')
    expect(error.details).toMatchObject({ operand: 1, byteOffset: 12, access: 'write', signal: 'SIGSEGV' })
  }
})

describe('closeAsync()', () => {
  test('waits for all calls, refuses new ones, and can be repeated', async () => {
    using bench = new Bench()
    const workers = await Workers.open()
    const calls = [0, 1, 2].map(async () => workers.runAsync(bench.call(FAULT.SLEEP)))
    const closed = workers.closeAsync()
    expect(workers.isAlive).toBe(false)
    expect(() => workers.run(bench.call(FAULT.NONE))).toThrow(ScopeClosedError)
    await expect(workers.runAsync(bench.call(FAULT.NONE))).rejects.toThrow(ScopeClosedError)
    await expect(workers.restart()).rejects.toThrow(ScopeClosedError)
    expect(await Promise.all(calls)).toEqual([DOUBLED, DOUBLED, DOUBLED])
    await closed
    await workers.closeAsync()
    expect(workers.health()).toMatchObject({ state: 'closed' })
    expect(bench.released).toBe(5)
  })

  test('works after a crash loop, and while workers wait for their restart', async () => {
    using bench = new Bench()
    bench.call(FAULT.NONE)
    const before = usage()
    for (const limit of [0, Infinity]) {
      const workers = await Workers.open({ restart: { limit, backoff: 10_000 } })
      await failureOf(workers.runAsync(bench.call(FAULT.ABORT)))
      await failureOf(workers.runAsync(bench.call(FAULT.ABORT)))
      await workers.closeAsync()
    }
    expect(usage()).toEqual(before)
  })
})

describe('closeAsync() with a deadline', () => {
  test('calls that are left fail, and the workers end', async () => {
    using bench = new Bench()
    const before = usage()
    const workers = await Workers.open({ deadline: Infinity })
    const running = failureOf(workers.runAsync(bench.call(FAULT.HANG)))
    const queued = failureOf(workers.runAsync(bench.call(FAULT.NONE)))
    await workers.closeAsync({ deadline: 20 })
    expect((await running).code).toBe('TENON_SCOPE_CLOSED')
    expect((await queued).code).toBe('TENON_SCOPE_CLOSED')
    expect(bench.released).toBe(2)
    expect({ ...usage(), descriptors: 0 }).toEqual({ ...before, descriptors: 0 })
  })

  test('restart() that waits fails when the workers are closed', async () => {
    using bench = new Bench()
    const workers = await Workers.open({ deadline: Infinity })
    const running = failureOf(workers.runAsync(bench.call(FAULT.HANG)))
    const restarted = failureOf(workers.restart())
    await workers.closeAsync({ deadline: 20 })
    expect((await restarted).code).toBe('TENON_SCOPE_CLOSED')
    await running
  })

  test('a worker that fails for good does not make closing fail', async () => {
    using bench = new Bench()
    const workers = await Workers.open({ workers: 2, restart: { limit: 0 } })
    const slow = workers.runAsync(bench.call(FAULT.SLEEP))
    await failureOf(workers.runAsync(bench.call(FAULT.ABORT)))
    expect(workers.health().state).toBe('failed')
    await workers.closeAsync()
    expect(await slow).toEqual(DOUBLED)
  })
})

test('options and calls that are not valid are refused by name', async () => {
  const bench = new Bench()
  const wrong: [object, RegExp][] = [
    [{ workers: 0 }, /workers must be a whole number from 1 to 64, got 0/],
    [{ workers: 65 }, /workers must be/],
    [{ worker: 1 }, /Did you mean workers/],
    [{ deadline: -1 }, /deadline must be/],
    [{ deadline: Number.NaN }, /deadline must be/],
    [{ memory: '512 parsecs' }, /memory must be/],
    [{ memory: '512' }, /memory must be a whole number of bytes, or a text with a unit such as "64 MiB", got "512"/],
    [{ memory: 0 }, /memory must be/],
    [{ restart: { limits: 1 } }, /restart must not have the option/],
    [{ output: 'console' }, /output must be 'capture' or 'inherit' or 'ignore', got "console"/],
    [{ sandbox: 'strict' }, /sandbox must be/],
    [{ env: ['A=B'] }, /env must be/],
    [{ env: { A: 1 } }, /env\.A must be/],
    [{ guard: 1 }, /guard must be a boolean/],
    [{ queue: -1 }, /queue must be/],
    [{ recycle: 0 }, /recycle must be/],
  ]
  for (const [options, message] of wrong) await expect(Workers.open(options)).rejects.toThrow(message)
  await using workers = await Workers.open()
  const calls: [object, RegExp][] = [
    [{ deadline: '5' }, /deadline must be a number of milliseconds/],
    [{ deadline: 0 }, /deadline must be a number of milliseconds above 0/],
    [{ priority: 'urgent' }, /priority must be 'low' or 'medium' or 'high'/],
    [{ affinity: 5 }, /affinity must be a string/],
    [{ idempotent: 1 }, /idempotent must be a boolean/],
    [{ signal: {} }, /signal must be an AbortSignal/],
  ]
  for (const [options, message] of calls) {
    expect(() => workers.run(bench.call(FAULT.NONE, options))).toThrow(message)
    await expect(workers.runAsync(bench.call(FAULT.NONE, options))).rejects.toThrow(message)
  }
  // A call that is refused gives its copies back too.
  expect(bench.released).toBe(2 * calls.length)
  bench.memory.close()
})
