import { packageFlags } from '@tenon/config/package-flags'
import { ArgumentError, NativeLibrary, ScopeClosedError, ScopeHeldError, tensor, type Tensor } from '@tenon/core'
import { addressOf, coreFunctions, globalGate, LAYOUTS } from '@tenon/core/internal'
import { runScript } from '@tenon/core/testing'
import {
  ApiVersion,
  customCall,
  DeadlineExceededError,
  f32,
  FunctionTarget,
  hostFunction,
  InternalError,
  OutOfRangeError,
  s32,
  s64,
  typedHandler,
  UnavailableError,
  UnknownError,
  type PreparedCall,
} from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { NativeScope } from '@tenon/scope'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { cppKernels, filled, kernels, liveObjects } from './kernels.ts'

const runtime = NativeLibrary.open(kernelLibrary('kernels_runtime'))

/** As many runs as there are threads, so that later runs do not start. */
const counts = new BigUint64Array(LAYOUTS.tn_jobs_counts_t.size / 8)
coreFunctions().tn_jobs_counts(addressOf(counts))
const THREADS = Number(counts[LAYOUTS.tn_jobs_counts_t.offsets.limit / 8])

const shape = { operands: [f32([4]), f32([4])], results: [f32([4])], attrs: { a: f32(2) } }
const prepareSaxpy = (): PreparedCall => typedHandler(kernels, 'saxpy').prepare(shape)
const [x, y] = [filled([4], (i) => i), filled([4], () => 1)]

/** Starts runs that wait for their flag. */
function startWaiting(call: PreparedCall, count: number): { finish: () => Promise<unknown>; outs: Tensor[] } {
  const flag = tensor('s32', [])
  const outs = Array.from({ length: count }, () => tensor('s32', []))
  const runs = outs.map((out) => call.runAsync([flag], [out]))
  const finish = (): Promise<unknown> => {
    new Int32Array((flag.view() as Int32Array).buffer, flag.view().byteOffset, 1)[0] = 7
    return Promise.all(runs)
  }
  return { finish, outs }
}

/** Waits until as many jobs run. */
async function hasStarted(count: number): Promise<void> {
  const running = LAYOUTS.tn_jobs_counts_t.offsets.running / 8
  do {
    await new Promise((resolve) => setTimeout(resolve, 1))
    coreFunctions().tn_jobs_counts(addressOf(counts))
  } while (Number(counts[running]) !== count)
}

const prepareWait = (): PreparedCall =>
  typedHandler(kernels, 'wait_for_flag').prepare({ operands: [s32([])], results: [s32([])] })

let holds = globalGate.holds
afterEach(() => {
  expect(liveObjects()).toStrictEqual({ errors: 0, futures: 0 })
  expect(globalGate.holds).toBe(holds)
  holds = globalGate.holds
})

describe('an asynchronous run', () => {
  test('writes its results and resolves', async () => {
    using call = prepareSaxpy()
    const out = tensor('f32', [4])
    await call.runAsync([x, y], [out])
    expect(out.toArray()).toStrictEqual([1, 3, 5, 7])
    await call.runAsync([y, x], [out])
    expect(out.toArray()).toStrictEqual([2, 3, 4, 5])
  })

  test('many runs of one call overlap, each with pointers of its own', async () => {
    using call = prepareSaxpy()
    const outs = Array.from({ length: 500 }, () => tensor('f32', [4]))
    await Promise.all(outs.map((out, i) => call.runAsync([filled([4], () => i), y], [out])))
    outs.forEach((out, i) => expect(out.toArray()).toStrictEqual([2 * i + 1, 2 * i + 1, 2 * i + 1, 2 * i + 1]))
  })

  test('leaves the event loop running', async () => {
    using call = prepareWait()
    const { finish, outs } = startWaiting(call, 1)
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(outs[0]!.toArray()).toStrictEqual([0])
    await finish()
    expect(outs[0]!.toArray()).toStrictEqual([7])
  })

  test('runs an untyped call', async () => {
    const options = { apiVersion: ApiVersion.STATUS_RETURNING } as const
    const [two, big] = [tensor('s32', [], [2]), tensor('s32', [], [2 ** 31 - 1])]
    using call = hostFunction(runtime, 'checked_add', options).prepare({ operands: [two, two], results: [two] })
    const sum = tensor('s32', [])
    await call.runAsync([two, two], [sum])
    expect(sum.toArray()).toStrictEqual([4])
    await expect(call.runAsync([big, two], [sum])).rejects.toThrow(InternalError)
    await expect(call.runAsync([big, two], [sum])).rejects.toThrow(/the sum does not fit into 32 bits/)
  })
})

describe('a run that waits for a future', () => {
  const prepareScale = (factor: number): PreparedCall =>
    typedHandler(kernels, 'scale_later').prepare({
      operands: [f32([4])],
      results: [f32([4])],
      attrs: { factor: f32(factor) },
    })

  test('resolves when the future completes', async () => {
    using call = prepareScale(3)
    const outs = Array.from({ length: 100 }, () => tensor('f32', [4]))
    await Promise.all(outs.map((out) => call.runAsync([x], [out])))
    for (const out of outs) expect(out.toArray()).toStrictEqual([0, 3, 6, 9])
  })

  test('rejects with the error of the future', async () => {
    using call = prepareScale(-1)
    await expect(call.runAsync([x], [tensor('f32', [4])])).rejects.toThrow(OutOfRangeError)
  })

  test('shares the state with all runs', async () => {
    const counter = typedHandler(kernels, { execute: 'counter_v3', instantiate: 'counter_v3_instantiate' })
    using call = counter.prepare({ results: [s64([])], attrs: { start: s64(5) } })
    const out = tensor('s64', [])
    for (let i = 0; i < 3; i++) await call.runAsync([], [out])
    call.run([], [out])
    expect(out.toArray()).toStrictEqual([8n])
  })
})

describe('a failing asynchronous run', () => {
  test('rejects with the error of the kernel', async () => {
    const wrong = { operands: [f32([4]), f32([3])], results: [f32([4])], attrs: { a: f32(2) } }
    using call = typedHandler(kernels, 'saxpy').prepare(wrong)
    await expect(call.runAsync([x, tensor('f32', [3])], [tensor('f32', [4])])).rejects.toThrow(/saxpy answered/)
  })

  test('rejects with the text of a C++ exception', async () => {
    using call = hostFunction(cppKernels, 'throw_from_host_call').prepare({})
    await expect(call.runAsync([], [])).rejects.toThrow(UnknownError)
    await expect(call.runAsync([], [])).rejects.toThrow(/threw a C\+\+ exception: from a host call/)
  })

  test('rejects for wrong arguments before anything is held', async () => {
    using call = prepareSaxpy()
    await expect(call.runAsync([x], [y])).rejects.toThrow(ArgumentError)
    const closed = prepareSaxpy()
    closed.close()
    await expect(closed.runAsync([x, y], [tensor('f32', [4])])).rejects.toThrow(ScopeClosedError)
  })

  test('rejects with UNAVAILABLE for a TypeScript function, which its own thread must call', async () => {
    using target = FunctionTarget.open('mine', '() -> ()', () => {})
    using call = target.handler.prepare({})
    await expect(call.runAsync([], [])).rejects.toThrow(UnavailableError)
    call.run([], [])
  })
})

describe('a run in flight', () => {
  test('keeps the call and the library open', async () => {
    const library = NativeLibrary.open(kernelLibrary('kernels'))
    const call = typedHandler(library, 'wait_for_flag').prepare({ operands: [s32([])], results: [s32([])] })
    const { finish } = startWaiting(call, 2)
    expect(() => call.close()).toThrow(ScopeHeldError)
    expect(() => library.close()).toThrow(/it is used by 2 holds/)
    await finish()
    call.close()
    library.close()
  })

  test('is queued beside 5000 others', async () => {
    using call = prepareWait()
    const { finish, outs } = startWaiting(call, 5000)
    const last = tensor('s32', [])
    const run = call.runAsync([tensor('s32', [], [1])], [last])
    await finish()
    await run
    expect(outs.every((out) => out.toArray()[0] === 7)).toBe(true)
    expect(last.toArray()).toStrictEqual([1])
  })
})

describe('an abort signal', () => {
  test('cancels a run that has not started', async () => {
    using call = prepareWait()
    const { finish } = startWaiting(call, THREADS)
    const controllers = [new AbortController(), new AbortController(), new AbortController()]
    const out = tensor('s32', [])
    const runs = controllers.map(({ signal }) => call.runAsync([tensor('s32', [], [1])], [out], { signal }))
    controllers[2]!.abort(new Error('no longer wanted'))
    controllers[0]!.abort()
    await expect(runs[2]).rejects.toThrow('no longer wanted')
    await expect(runs[0]).rejects.toThrow(/abort/i)
    expect(out.toArray()).toStrictEqual([0])
    await finish()
    await runs[1]
    expect(out.toArray()).toStrictEqual([1])
  })

  test.each(['prepared', 'bound', 'function'] as const)(
    'rejects a %s run that has started, whose memory stays open until the kernel returns',
    async (kind) => {
      const scope = NativeScope.ofConfined()
      const flag = tensor('s32', [], [0], { allocator: scope })
      const out = tensor('s32', [], [0], { allocator: scope })
      const call = prepareWait()
      const controller = new AbortController()
      const { signal } = controller
      const bound = kind === 'bound' ? call.bind([flag], [out]) : undefined
      const run =
        bound?.runAsync({ signal }) ??
        (kind === 'prepared'
          ? call.runAsync([flag], [out], { signal })
          : customCall(kernels, 'wait_for_flag').async([flag], { results: [out], signal }))
      await hasStarted(1)
      controller.abort(new Error('no longer wanted'))
      await expect(run).rejects.toThrow('no longer wanted')
      expect(() => scope.close()).toThrow(ScopeHeldError)
      if (bound !== undefined) expect(() => bound.run()).toThrow(/is running/)
      if (bound !== undefined) await expect(bound.runAsync()).rejects.toThrow(/is running/)
      new Int32Array((flag.view() as Int32Array).buffer, flag.view().byteOffset, 1)[0] = 7
      await hasStarted(0)
      expect(out.toArray()).toStrictEqual([7])
      await new Promise((resolve) => setTimeout(resolve))
      bound?.close()
      call.close()
      scope.close()
    },
  )

  test('that is aborted while the operands are read starts nothing', async () => {
    using call = prepareWait()
    const controller = new AbortController()
    const flag = tensor('s32', [], [1])
    const out = tensor('s32', [])
    const operands = Object.defineProperty([], 0, { get: () => (controller.abort(new Error('meanwhile')), flag) })
    await expect(call.runAsync(operands, [out], { signal: controller.signal })).rejects.toThrow('meanwhile')
    await call.runAsync([flag], [tensor('s32', [])])
    expect(out.toArray()).toStrictEqual([0])
  })

  test('does not affect a run that has ended', async () => {
    using call = prepareWait()
    const controller = new AbortController()
    const [flag, out] = [tensor('s32', [], [3]), tensor('s32', [])]
    const run = call.runAsync([flag], [out], { signal: controller.signal })
    await run
    controller.abort()
    await run
    expect(out.toArray()).toStrictEqual([3])
  })

  test('that is aborted already starts nothing', async () => {
    using call = prepareWait()
    const out = tensor('s32', [])
    const signal = AbortSignal.abort(new Error('too late'))
    await expect(call.runAsync([tensor('s32', [], [1])], [out], { signal })).rejects.toThrow('too late')
    expect(out.toArray()).toStrictEqual([0])
  })

  test.each(['queued', 'started'])('or a deadline rejects a %s run', async (state) => {
    using call = prepareWait()
    const { finish } = startWaiting(call, state === 'queued' ? THREADS : 0)
    const [flag, out] = [tensor('s32', []), tensor('s32', [])]
    const run = call.runAsync([flag], [out], { deadline: 20 })
    await expect(run).rejects.toThrow(DeadlineExceededError)
    await expect(run).rejects.toThrow('DEADLINE_EXCEEDED: the call did not end within 20 ms')
    flag.view()[0] = 3
    await finish()
    await hasStarted(0)
    await new Promise((resolve) => setTimeout(resolve))
    expect(out.toArray()).toStrictEqual([state === 'queued' ? 0 : 3])
    await call.runAsync([tensor('s32', [], [1])], [out], { deadline: 2 ** 31 - 1 })
    expect(out.toArray()).toStrictEqual([1])
  })

  test.each([0, -1, Number.NaN, 2 ** 31, '5'])('the deadline %s is refused', async (deadline) => {
    using call = prepareWait()
    const run = call.runAsync([tensor('s32', [], [1])], [tensor('s32', [])], { deadline: deadline as never })
    await expect(run).rejects.toThrow(/deadline must be a number of milliseconds from 1 to 2\^31 - 1, got/)
  })

  test('must be an AbortSignal', async () => {
    using call = prepareWait()
    const run = call.runAsync([tensor('s32', [], [1])], [tensor('s32', [])], { signal: 5 as never })
    await expect(run).rejects.toThrow(/signal must be an AbortSignal, got 5/)
  })
})

test('a handler schedules tasks on the thread pool', async () => {
  using call = typedHandler(kernels, 'sum_by_pool').prepare({ operands: [f32([1024])], results: [f32([])] })
  const ones = filled([1024], () => 1)
  const sums = Array.from({ length: 70 }, () => tensor('f32', []))
  call.run([ones], [sums[0]!])
  await Promise.all(sums.slice(1).map((sum) => call.runAsync([ones], [sum])))
  for (const sum of sums) expect(sum.toArray()).toStrictEqual([1024])
})

describe('the process', () => {
  /** Makes a module that starts runs and then ends with the code `end`. */
  const script = (end: string, env: Record<string, string> = {}): ReturnType<typeof runScript> =>
    runScript(
      `
        import { NativeLibrary, tensor } from '@tenon/core'
        import { f32, typedHandler } from '@tenon/custom-call'
        const library = NativeLibrary.open(${JSON.stringify(kernelLibrary('kernels'))})
        const x = tensor('f32', [1000])
        const shape = { operands: [x], results: [x], attrs: { factor: f32(2) } }
        const call = typedHandler(library, 'scale_later').prepare(shape)
        const runs = Array.from({ length: 50 }, () => call.runAsync([x], [tensor('f32', [1000])]))
        ${end}
      `,
      {
        cwd: fileURLToPath(new URL('..', import.meta.url)),
        nodeOptions: [...packageFlags, '--no-warnings'],
        env,
      },
    )

  test.each(['0', '1025', 'many', '2.5'])('rejects runs with TENON_THREADS=%s', async (value) => {
    const end = `const [first] = await Promise.allSettled(runs)
      const { name, message, hint } = first.reason
      console.log(name, '|', message, '|', hint)`
    const { stdout, stderr, code } = await script(end, { TENON_THREADS: value })
    expect([stderr, code]).toStrictEqual(['', 0])
    expect(stdout).toMatch(/^ArgumentError \| TENON_THREADS must be an integer from 1 to 1024, got "/)
    expect(stdout).toContain(`got "${value}"`)
    expect(stdout).toContain('| Set TENON_THREADS to')
  })

  test.each(['1', '3', '1024'])('completes all runs with TENON_THREADS=%s', async (value) => {
    const ended = await script('Promise.all(runs).then((all) => console.log(all.length))', { TENON_THREADS: value })
    expect([ended.stdout, ended.stderr, ended.code]).toStrictEqual(['50\n', '', 0])
  })

  test('stays alive until its runs are over, and then exits', async () => {
    const ended = await script('Promise.all(runs).then((all) => console.log(all.length))')
    expect([ended.stdout, ended.stderr, ended.code]).toStrictEqual(['50\n', '', 0])
  })

  test('continues after each run, with nothing else to do', async () => {
    const again = 'for (let i = 0; i < 3; i++) await call.runAsync([x], [tensor("f32", [1000])])'
    const ended = await script(`await Promise.all(runs); ${again}; console.log('done')`)
    expect([ended.stdout, ended.stderr, ended.code]).toStrictEqual(['done\n', '', 0])
  })

  describe('with a future that never completes', () => {
    const never = `
      await Promise.all(runs)
      // Long enough for the handler to begin on a busy machine: a run that waits is taken back.
      const signal = AbortSignal.timeout(1000)
      const pending = typedHandler(library, 'never_done').prepare({ operands: [x] }).runAsync([x], [], { signal })
      pending.catch((error) => console.log(error.name))
    `
    const ended = (code: number): object => ({ code, signal: null, stdout: 'TimeoutError\n' })

    test('rejects the run after the signal, and ends naturally', async () => {
      const { code, signal, stdout, stderr } = await script(never, { TENON_EXIT_WAIT: '100' })
      expect({ code, signal, stdout }).toStrictEqual(ended(0))
      expect(stderr).toMatch(/^tenon: ended without waiting for never_done: its future was not settled in 100 ms/)
    })

    test('ends by process.exit()', async () => {
      const exit = `${never}; await pending.catch(() => {}); process.exit(7)`
      const { code, signal, stdout, stderr } = await script(exit, { TENON_EXIT_WAIT: '100' })
      expect({ code, signal, stdout }).toStrictEqual(ended(7))
      expect(stderr).toMatch(/^tenon: ended without waiting for never_done: its future was not settled in 100 ms/)
    })

    test('ends by process.exit() without a signal', async () => {
      const exit = `typedHandler(library, 'never_done').prepare({ operands: [x] }).runAsync([x], [])
        await Promise.all(runs)
        process.exit(6)`
      const { code, signal, timedOut } = await script(exit, { TENON_EXIT_WAIT: '100' })
      expect({ code, signal, timedOut }).toStrictEqual({ code: 6, signal: null, timedOut: false })
    })

    test('waits for other runs after the signal', async () => {
      const both = `${never}
        const flag = tensor('s32', [])
        const wait = typedHandler(library, 'wait_for_flag').prepare({ operands: [flag], results: [flag] })
        wait.runAsync([flag], [tensor('s32', [])]).then(() => console.log('done'))
        pending.catch(() => setTimeout(() => (flag.view()[0] = 1), 300))`
      const { code, stdout } = await script(both, { TENON_EXIT_WAIT: '100' })
      expect({ code, stdout }).toStrictEqual({ code: 0, stdout: 'TimeoutError\ndone\n' })
    })
  })

  test('can exit with runs in flight', async () => {
    const ended = await script('process.exit(7)')
    expect([ended.stdout, ended.stderr, ended.code]).toStrictEqual(['', '', 7])
  })
})
