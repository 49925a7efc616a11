import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { channel } from 'node:diagnostics_channel'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { QueueFullError, ScopeClosedError, ScopeHeldError, tensor } from '@tenon/core'
import { CONSTANTS } from '@tenon/core/internal'
import { describe, expect, test, vi } from 'vitest'
import { KernelCrashError, WorkerLostError } from '../src/host/errors.ts'
import { SharedMemory } from '@tenon/pools'
import { WorkerProcess } from '../src/host/worker-process.ts'
import { Workers } from '../src/host/workers.ts'
import { Bench, DOUBLED, FAULT, faultyKernel, faultyLibrary, operandOf, ReportedError } from './faulty.ts'
import { failureOf } from './support.ts'

const unlimited = { limit: Infinity, backoff: 0 }

describe('the queue of calls', () => {
  test('a call goes to the idle worker that has had the fewest calls', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ workers: 3 })
    for (let index = 0; index < 9; index++) workers.run(bench.call(FAULT.NONE))
    expect(workers.health().workers.map(({ calls }) => calls)).toEqual([3, 3, 3])
  })

  test('calls wait while all workers are busy, and a full queue refuses them without waiting', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ workers: 1, queue: 2 })
    const calls = [1, 2, 3].map(async () => workers.runAsync(bench.call(FAULT.SLEEP)))
    expect(workers.metrics()).toMatchObject({ queued: 2, running: 1 })
    const error = await failureOf(workers.runAsync(bench.call(FAULT.NONE)))
    expect(error).toBeInstanceOf(QueueFullError)
    expect(error).toMatchObject({ code: 'TENON_QUEUE_FULL', details: { queue: 2, kernel: 'faulty' } })
    expect(() => workers.run(bench.call(FAULT.NONE))).toThrow(QueueFullError)
    expect(await Promise.all(calls)).toEqual([DOUBLED, DOUBLED, DOUBLED])
    expect(bench.released).toBe(5)
    expect(workers.metrics().failures).toEqual({ QueueFullError: 2 })
  })

  test('calls of a higher priority go first', async () => {
    using bench = new Bench()
    await using workers = await Workers.open()
    const order: string[] = []
    const run = async (name: string, priority: 'low' | 'medium' | 'high'): Promise<void> => {
      await workers.runAsync(bench.call(FAULT.NONE, { priority }))
      order.push(name)
    }
    const first = workers.runAsync(bench.call(FAULT.SLEEP))
    await Promise.all([first, run('low', 'low'), run('medium', 'medium'), run('high', 'high')])
    expect(order).toEqual(['high', 'medium', 'low'])
  })
})

describe('the worker of a call', () => {
  test('calls with the same key run in the same worker, and others pass them by', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ workers: 4 })
    for (let index = 0; index < 8; index++) workers.run(bench.call(FAULT.NONE, { affinity: 'session' }))
    const counts = workers.health().workers.map(({ calls }) => calls)
    expect(counts.toSorted()).toEqual([0, 0, 0, 8])
    const slow = workers.runAsync(bench.call(FAULT.SLEEP, { affinity: 'session' }))
    const waiting = workers.runAsync(bench.call(FAULT.NONE, { affinity: 'session' }))
    expect(workers.run(bench.call(FAULT.NONE))).toEqual(DOUBLED)
    expect(workers.metrics().queued).toBe(1)
    await Promise.all([slow, waiting])
  })

  test('a worker runs one call at a time', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ workers: 2 })
    const calls = Array.from({ length: 6 }, async () => workers.runAsync(bench.call(FAULT.SLEEP)))
    expect(workers.metrics()).toMatchObject({ queued: 4, running: 2 })
    await Promise.all(calls)
  })
})

describe('kernels of a worker', () => {
  test('a kernel does not find the control bits and the direction flag that another one has left', async () => {
    using bench = new Bench()
    await using workers = await Workers.open()
    for (let index = 0; index < 3; index++) expect(workers.run(bench.call(FAULT.STATE))).toEqual(DOUBLED)
    expect(workers.metrics().restarts).toBe(0)
  })

  test('a kernel is prepared when it is first called in a worker, once, and again after a restart', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'tenon-host-'))
    const library = join(directory, 'libfaulty.so')
    copyFileSync(faultyLibrary, library)
    using bench = new Bench(faultyKernel('faulty', library))
    await using workers = await Workers.open({ restart: unlimited })
    expect(workers.run(bench.call(FAULT.NONE))).toEqual(DOUBLED)
    rmSync(directory, { recursive: true })
    expect(workers.run(bench.call(FAULT.NONE))).toEqual(DOUBLED)
    expect(() => workers.run(bench.call(FAULT.ABORT))).toThrow(KernelCrashError)
    const error = await failureOf(() => workers.run(bench.call(FAULT.NONE)))
    expect(error).toBeInstanceOf(ReportedError)
    expect(error.answer.error).toBe(CONSTANTS.TN_HOST_LOAD_ERROR)
    // A failed preparation is not kept.
    copyFileSync(faultyLibrary, join(mkdtempSync(join(tmpdir(), 'tenon-host-')), 'libfaulty.so'))
    expect((await failureOf(workers.runAsync(bench.call(FAULT.NONE)))).answer.error).toBe(CONSTANTS.TN_HOST_LOAD_ERROR)
  })

  test('forget() releases a kernel, which is prepared again', async () => {
    using bench = new Bench()
    await using workers = await Workers.open()
    for (let round = 0; round < 100; round++) {
      expect(workers.run(bench.call(FAULT.NONE))).toEqual(DOUBLED)
      workers.forget(bench.kernel)
    }
  })

  test('a kernel that does not exist is an error of the call, and of each call of a batch', async () => {
    using bench = new Bench({ ...faultyKernel(), symbols: ['', '', '', 'no_such_kernel'] })
    await using workers = await Workers.open()
    expect((await failureOf(() => workers.run(bench.call(FAULT.NONE)))).message).toContain('no_such_kernel')
    const outcomes = await workers.runBatch([bench.call(0), bench.call(0), bench.call(0)])
    for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: { message: /no_such_kernel/ } })
  })
})

describe('operands of a call', () => {
  test('operands are named by chunk and offset, whatever their number and place', async () => {
    using bench = new Bench()
    using other = SharedMemory.open({ label: 'other' })
    await using workers = await Workers.open()
    const call = bench.call(FAULT.NONE)
    const y = tensor('f32', [16], undefined, { allocator: other })
    const operands = [...call.operands.slice(0, 2), operandOf(y, true)]
    workers.run({ ...call, operands, read: () => [] })
    expect(y.toArray()).toEqual(DOUBLED)
  })

  test('a chunk that was read-only in the worker becomes writable when a result lies there', async () => {
    using bench = new Bench()
    using other = SharedMemory.open({ label: 'other' })
    await using workers = await Workers.open()
    const x = tensor(
      'f32',
      [16],
      Array.from({ length: 16 }, (_, index) => index + 1),
      { allocator: other },
    )
    const y = tensor('f32', [16], undefined, { allocator: other })
    const first = bench.call(FAULT.NONE)
    workers.run({ ...first, operands: [first.operands[0]!, operandOf(x, false), first.operands[2]!] })
    workers.run({ ...first, operands: [first.operands[0]!, operandOf(x, false), operandOf(y, true)], read: () => [] })
    expect(y.toArray()).toEqual(DOUBLED)
  })
})

test('an answer that comes before the worker is asked to ring is found', async () => {
  using bench = new Bench()
  await using workers = await Workers.open()
  const { post } = WorkerProcess.prototype
  const late = vi.spyOn(WorkerProcess.prototype, 'post').mockImplementation(function (this: WorkerProcess, rings) {
    post.call(this, false)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
    post.call(this, rings)
  })
  try {
    for (let round = 0; round < 3; round++) {
      expect(await workers.runAsync(bench.call(FAULT.NONE, { deadline: 5000 }))).toEqual(DOUBLED)
    }
    const outcomes = await workers.runBatch([0, 1, 2].map(() => bench.call(FAULT.NONE, { deadline: 5000 })))
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled'])
  } finally {
    late.mockRestore()
  }
})

test('calls have any number of operands, arguments of any length, and kernels any descriptor', async () => {
  using bench = new Bench()
  await using workers = await Workers.open()
  for (const count of [3, 39, 40, 41, 42, 700]) {
    for (const length of [0, 10, 16_384, 16_385, 100_000]) {
      const call = bench.call(FAULT.NONE)
      const [fault, x, y] = call.operands
      const more = Array.from({ length: count - 3 }, (_, index) => (index % 3 === 0 ? null : x!))
      const kernel = { ...faultyKernel(), operands: count - 1, descriptor: new Uint8Array(length) }
      const operands = [fault!, x!, ...more, y!]
      const expected = { ...call, kernel, operands, body: length === 10 ? undefined : new Uint8Array(length) }
      const outcome = await workers.runAsync(expected).catch((error: unknown) => String(error))
      // Kernels without a descriptor refuse one, with a message about its length.
      if (length === 0) expect(outcome).toEqual(DOUBLED)
    }
  }
  expect(workers.run(bench.call(FAULT.NONE))).toEqual(DOUBLED)
  expect(workers.metrics().failures.KernelCrashError).toBeUndefined()
})

describe('the lifetime of operands', () => {
  test('operands are held until the worker has answered, also after the call was rejected', async () => {
    using memory = SharedMemory.open({ label: 'held' })
    const bench = new Bench()
    await using workers = await Workers.open({ restart: unlimited })
    const call = bench.call(FAULT.SLEEP)
    const controller = new AbortController()
    const running = workers.runAsync({ ...call, signal: controller.signal })
    expect(() => bench.memory.close()).toThrow(ScopeHeldError)
    controller.abort(new Error('taken back'))
    expect((await failureOf(running)).message).toBe('taken back')
    expect(bench.released).toBe(0)
    expect(() => bench.memory.close()).toThrow(ScopeHeldError)
    expect(workers.run(bench.call(FAULT.NONE))).toEqual(DOUBLED)
    expect(bench.released).toBe(2)
    bench.memory.close()
    void memory
  })

  test('an operand that is closed is refused, and nothing is held', async () => {
    const bench = new Bench()
    await using workers = await Workers.open()
    const call = bench.call(FAULT.NONE)
    bench.memory.close()
    expect(() => workers.run(call)).toThrow(ScopeClosedError)
    await expect(workers.runAsync(call)).rejects.toThrow(ScopeClosedError)
    expect(await workers.runBatch([call])).toMatchObject([{ status: 'rejected' }])
  })
})

describe('chunks of a worker', () => {
  test('more chunks than a worker keeps are mapped again', async () => {
    using bench = new Bench()
    await using workers = await Workers.open()
    const memories = Array.from({ length: 40 }, (_, index) => SharedMemory.open({ label: `chunk ${index}` }))
    for (let round = 0; round < 3; round++) {
      for (const allocator of memories) {
        const call = bench.call(FAULT.NONE)
        const y = tensor('f32', [16], undefined, { allocator })
        workers.run({ ...call, operands: [...call.operands.slice(0, 2), operandOf(y, true)], read: () => [] })
        expect(y.toArray()).toEqual(DOUBLED)
      }
    }
    for (const memory of memories) memory.close()
    expect(workers.run(bench.call(FAULT.NONE))).toEqual(DOUBLED)
  })
})

describe('a call with a signal', () => {
  test('signal takes a waiting call back', async () => {
    using bench = new Bench()
    await using workers = await Workers.open()
    const controller = new AbortController()
    const first = workers.runAsync(bench.call(FAULT.SLEEP))
    const second = workers.runAsync(bench.call(FAULT.NONE, { signal: controller.signal }))
    controller.abort()
    expect((await failureOf(second)).name).toBe('AbortError')
    expect(workers.metrics().queued).toBe(0)
    expect(bench.released).toBe(1)
    expect(await first).toEqual(DOUBLED)
  })

  test('signal cancels a running call, whose worker stays if the kernel returns', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ grace: 20_000 })
    const { process } = workers.health().workers[0]!
    const controller = new AbortController()
    const running = workers.runAsync(bench.call(FAULT.UNTIL_CANCELLED, { signal: controller.signal }))
    setTimeout(() => controller.abort(), 20)
    expect((await failureOf(running)).name).toBe('AbortError')
    expect(workers.run(bench.call(FAULT.NONE))).toEqual(DOUBLED)
    expect(workers.health().workers[0]!.process).toBe(process)
  })

  test('a kernel that does not return after the grace is killed, which is no crash', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ restart: { limit: 0 } })
    const { process } = workers.health().workers[0]!
    const controller = new AbortController()
    const running = workers.runAsync(bench.call(FAULT.SPIN, { signal: controller.signal }))
    setTimeout(() => controller.abort(), 20)
    expect((await failureOf(running)).name).toBe('AbortError')
    expect(await workers.runAsync(bench.call(FAULT.NONE))).toEqual(DOUBLED)
    expect(workers.health().workers[0]!.process).not.toBe(process)
  })

  test('a signal that is aborted already refuses the call', async () => {
    using bench = new Bench()
    await using workers = await Workers.open()
    const signal = AbortSignal.abort(new Error('too late'))
    expect(() => workers.run(bench.call(FAULT.NONE, { signal }))).toThrow('too late')
    await expect(workers.runAsync(bench.call(FAULT.NONE, { signal }))).rejects.toThrow('too late')
    expect(bench.released).toBe(2)
  })
})

describe('run()', () => {
  test('run() waits in the queue behind asynchronous calls, which are settled meanwhile', async () => {
    using bench = new Bench()
    await using workers = await Workers.open()
    const settled: number[] = []
    const calls = [0, 1, 2].map(async (index) => {
      await workers.runAsync(bench.call(FAULT.SLEEP))
      settled.push(index)
    })
    expect(workers.run(bench.call(FAULT.NONE))).toEqual(DOUBLED)
    expect(workers.metrics()).toMatchObject({ queued: 0, running: 0, calls: 4 })
    await Promise.all(calls)
    expect(settled).toEqual([0, 1, 2])
  })

  test('run() that waits in the queue finds crashes of other calls, deadlines, and waits for restarts', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ restart: { limit: Infinity, backoff: 30 } })
    const crash = failureOf(workers.runAsync(bench.call(FAULT.SEGV)))
    const second = failureOf(workers.runAsync(bench.call(FAULT.ABORT)))
    const third = failureOf(workers.runAsync(bench.call(FAULT.SPIN, { deadline: 50 })))
    expect(workers.run(bench.call(FAULT.NONE))).toEqual(DOUBLED)
    expect((await crash).details.signal).toBe('SIGSEGV')
    expect((await second).details.signal).toBe('SIGABRT')
    expect((await third).code).toBe('TENON_KERNEL_DEADLINE')
  })
})

describe('a batch', () => {
  test('a batch settles as Promise.allSettled, whatever its length', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ workers: 2 })
    expect(await workers.runBatch([])).toEqual([])
    const outcomes = await workers.runBatch(
      Array.from({ length: 150 }, (_, index) => bench.call(index % 10 === 3 ? FAULT.ERROR : FAULT.NONE)),
    )
    for (const [index, outcome] of outcomes.entries()) {
      if (index % 10 === 3) expect(outcome).toMatchObject({ reason: { message: 'failed on purpose' } })
      else expect(outcome).toEqual({ status: 'fulfilled', value: DOUBLED })
    }
    expect(bench.released).toBe(150)
  })

  test('a crash fails the call that ran, and the later ones run in another worker', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ restart: unlimited })
    const faults = [FAULT.NONE, FAULT.NONE, FAULT.SEGV, FAULT.NONE, FAULT.EXIT, FAULT.NONE]
    const outcomes = await workers.runBatch(faults.map((fault) => bench.call(fault)))
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
    expect(outcomes[2]).toMatchObject({ reason: { details: { signal: 'SIGSEGV' } } })
    expect(outcomes[4]).toMatchObject({ reason: { details: { exitCode: 3 } } })
  })

  test('a call that lost its worker twice before it had begun fails with WorkerLostError', async () => {
    using bench = new Bench()
    await using workers = await Workers.open({ restart: unlimited })
    // The next worker is killed before it can begin the second call.
    const killer = (message: unknown): void => {
      process.kill((message as { worker: { process: number } }).worker.process, 'SIGKILL')
      channel('tenon:isolate:start').unsubscribe(killer)
    }
    channel('tenon:isolate:start').subscribe(killer)
    const [first, second, third] = await workers.runBatch([FAULT.SEGV, FAULT.NONE].map((fault) => bench.call(fault)))
    expect(first).toMatchObject({ reason: { code: 'TENON_KERNEL_CRASH' } })
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'TENON_WORKER_LOST' } })
    const { reason } = second as PromiseRejectedResult
    expect(reason).toBeInstanceOf(WorkerLostError)
    expect(reason.message).toContain('faulty lost its worker before it had begun')
    expect(reason.cause).toBeInstanceOf(KernelCrashError)
    expect(third).toBeUndefined()
    expect(workers.run(bench.call(FAULT.NONE))).toEqual(DOUBLED)
    expect(bench.released).toBe(3)
  })
})
