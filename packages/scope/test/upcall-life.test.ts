import { packageFlags, testedDriver } from '@tenon/config/package-flags'
import { NativeLibrary } from '@tenon/core'
import { coreLibrary } from '@tenon/core/internal'
import { runScript, type ScriptResult } from '@tenon/core/testing'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { packageDirectory } from './support/worker.ts'

const fixture = join(dirname(coreLibrary().path), 'libcore_fixture.so')
NativeLibrary.open(fixture).close()

const flags = [...packageFlags, '--disable-warning=ExperimentalWarning']

/** What scripts and workers begin with. `library` is an expression. */
const preludeOf = (library: string): string => `
  import { MemoryLayout, MemorySegment, NativeScope, ResourceScope } from '@tenon/scope'
  import { Linker, SymbolLookup, upcallStub } from '@tenon/scope/linker'
  const scope = ResourceScope.ofConfined()
  const int32ToInt32 = { result: 'int32', parameters: ['int32'] }
  const fixture = SymbolLookup.ofLibrary(${library}, scope)
  const link = (name, result, ...parameters) => Linker.downcall(fixture.get('fixture_' + name), { result, parameters })
  const call = link('call_function', 'int32', 'pointer', 'int32')
  const callOften = link('call_often', 'int64', 'pointer', 'int32')
  const callBelow = link('call_below', 'int32', 'pointer', 'uint32')
  const callAndJoin = link('call_and_join', 'int32', 'pointer', 'int32')
  const store = link('store', 'void', 'pointer')
  const callStored = link('call_stored', 'int32', 'int32')
  const spawn = link('spawn', 'int32', 'pointer', 'int32', 'int32', 'int32')
  const [running, last, total, slept] = ['running', 'last', 'total', 'slept'].map((name) => link(name, 'int32'))
  const sleep = link('sleep_ms', 'void', 'int32')
  const stub = (run, options) => upcallStub(run, int32ToInt32, scope, options)
`

const prelude = `
  import { asScript } from '@tenon/config/as-script'
  import { once } from 'node:events'
  import { setTimeout } from 'node:timers/promises'
  import { Worker } from 'node:worker_threads'
  ${preludeOf(JSON.stringify(fixture))}
  const startWorker = (code) => new Worker(
    asScript(${JSON.stringify(`import { parentPort, workerData } from 'node:worker_threads'\n${preludeOf('workerData')}`)} + code),
    { eval: true, workerData: ${JSON.stringify(fixture)} },
  )
  /** Blocks this thread. */
  const block = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
  const isIdle = async () => { while (running() > 0) await setTimeout(1) }
  const errorOf = (run) => { try { return run() } catch (error) { return error.name } }
`

interface Expected {
  readonly code?: number
  readonly stdout: readonly string[]
}

interface Outcome extends Omit<ScriptResult, 'stdout'> {
  readonly lines: readonly string[]
}

const outcomeOf = ({ stdout, ...rest }: ScriptResult): Outcome => ({ ...rest, lines: stdout.split('\n').slice(0, -1) })

/** The outcome of a script that ends by itself and reports nothing. */
const ended = ({ code = 0, stdout }: Expected): Outcome => ({
  code,
  signal: null,
  timedOut: false,
  lines: stdout,
  stderr: '',
})

const start = (script: string, env: Record<string, string> = {}): Promise<ScriptResult> =>
  runScript(prelude + script, { cwd: packageDirectory, nodeOptions: flags, env })

/** Scripts that use stubs early and late, and what they print. They behave alike with both drivers. */
const cases: Readonly<Record<string, Expected & { readonly script: string }>> = {
  'a stub returns its refused result after its scope has closed': {
    script: `
      for (const options of [undefined, { refusedResult: -7 }]) {
        const own = ResourceScope.ofConfined()
        store(upcallStub((x) => x + 1, int32ToInt32, own, options))
        const alive = callStored(5)
        own.close()
        console.log(alive, callStored(5))
      }`,
    stdout: ['6 0', '6 -7'],
  },
  'the address of a dead stub does not run another function': {
    script: `
      const own = ResourceScope.ofConfined()
      store(upcallStub((x) => x + 1, int32ToInt32, own))
      own.close()
      for (let i = 0; i < 5000; i++) stub(() => 777)
      console.log(callStored(5))`,
    stdout: ['0'],
  },
  'a late call of another thread is refused': {
    script: `
      const own = ResourceScope.ofConfined()
      spawn(upcallStub((x) => x + 1, int32ToInt32, own, { refusedResult: -7 }), 1, 1, 100_000)
      own.close()
      await isIdle()
      console.log(last())`,
    stdout: ['-7'],
  },
  'a call of another thread that waits is refused when the scope closes': {
    script: `
      const own = ResourceScope.ofConfined()
      const runs = []
      for (let i = 0; i < 8; i++) spawn(upcallStub((x) => runs.push(x), int32ToInt32, own, { foreignThread: 'wait', refusedResult: -7 }), i, 1, 0)
      block(100)
      own.close()
      await isIdle()
      console.log(total(), runs.length)`,
    stdout: ['-56 0'],
  },
  'closing the scope of a stub that is being run throws': {
    script: `
      const own = ResourceScope.ofConfined()
      let closed
      const close = upcallStub((x) => {
        console.log(errorOf(() => own.close()))
        closed ??= own.closeAsync().then(() => console.log('closed'))
        return x
      }, int32ToInt32, own)
      console.log(call(close, 7))
      await closed`,
    stdout: ['ScopeHeldError', '7', 'closed'],
  },
  'another thread gets the refused result at once, or after the timeout': {
    script: `
      for (const options of [{ foreignThread: 'refuse' }, { timeout: 0 }, { timeout: 20, foreignThread: 'wait' }, { timeout: 60_000 }, {}]) {
        spawn(stub((x) => x, { refusedResult: -3, ...options }), 9, 1, 0)
        block(200)
        await isIdle()
        console.log(last())
      }`,
    stdout: ['-3', '-3', '-3', '9', '9'],
  },
  'a call that waits for a thread that waits for this one ends': {
    script: `
      console.log(callAndJoin(stub((x) => x, { refusedResult: -3 }), 4))
      console.log(callAndJoin(stub((x) => x, { refusedResult: -3, foreignThread: 'wait', timeout: 50 }), 4))`,
    stdout: ['-3', '-3'],
  },
  'the first error is thrown, and the function does not run again during that call': {
    script: `
      let runs = 0
      const fails = stub((x) => { runs++; if (x === 3) throw new Error('3'); return 1 })
      try { callOften(fails, 1000) } catch (error) { console.log(error.message, runs) }
      runs = 0
      console.log(callOften(stub(() => { try { callOften(fails, 10); return 0 } catch { return 5 } }), 10), runs)
      for (const value of [undefined, null, 0, 'text']) {
        try { call(stub(() => { throw value }), 1); console.log('not thrown') } catch (error) { console.log(error === value) }
      }`,
    stdout: ['3 4', '50n 40', 'true', 'true', 'true', 'true'],
  },
  'errors pass through nested calls, and each level can catch them': {
    script: `
      const nested = stub((x) => {
        if (x === 0) throw new Error('0')
        if (x % 3 === 0) return errorOf(() => call(nested, x - 1)) === 'Error' ? -x : 0
        try { return call(nested, x - 1) } catch (error) { throw new Error(x + ' ' + error.message) }
      })
      for (const x of [0, 1, 2, 3, 5, 30]) try { console.log(call(nested, x)) } catch (error) { console.log(error.message) }`,
    stdout: ['0', '1 0', '2 1 0', '-3', '-3', '0'],
  },
  'an error for another thread is an uncaught exception, after which calls work': {
    script: `
      process.on('uncaughtException', (error) => console.log(error.message))
      spawn(stub((x) => { throw new Error('of ' + x) }, { refusedResult: -7 }), 1, 3, 100)
      await isIdle()
      console.log(total(), call(stub((x) => x + 1), 1))`,
    stdout: ['of 1', 'of 2', 'of 3', '-21 2'],
  },
  'an uncaught exception of a callback can end the process in its handler': {
    script: `
      process.on('uncaughtException', () => process.exit(9))
      spawn(stub(() => { throw new Error('x') }, { foreignThread: 'wait' }), 1, 100, 0)
      await setTimeout(20_000)`,
    code: 9,
    stdout: [],
  },
  'a full stack of JavaScript in callbacks is a RangeError': {
    script: `
      const plain = () => 1 + plain()
      const deep = stub((x) => call(deep, x))
      for (const run of [stub(() => plain()), deep, deep]) console.log(errorOf(() => call(run, 1)))
      let caught = 0
      const catches = stub((x) => { try { return call(catches, x) } catch { caught++; return 5 } })
      console.log(call(catches, 1), caught > 0)
      try { call(stub(() => { throw new Error('mine') }), 1) } catch (error) { console.log(error.message) }`,
    stdout: ['RangeError', 'RangeError', 'RangeError', '5 true', 'mine'],
  },
  'a stack of JavaScript that is full at any step of a call and a callback is a RangeError': {
    script: `
      const kinds = new Set()
      const below = (depth, run) => depth === 0 ? run() : below(depth - 1, run)
      const byValue = stub((x) => call(byValue, x))
      const bsearch = Linker.downcall(SymbolLookup.ofProcess().get('bsearch'), { result: 'pointer', parameters: ['pointer', 'pointer', 'uint64', 'uint64', 'pointer'] })
      const memory = NativeScope.ofConfined().allocate(8)
      const byPointer = upcallStub(() => { bsearch(memory, memory, 1, 1, byPointer); return 0 }, { result: 'int32', parameters: ['pointer', 'pointer'] }, scope)
      for (let depth = 0; depth < 100; depth++) for (const run of [() => call(byValue, 1), () => bsearch(memory, memory, 1, 1, byPointer)])
        kinds.add(errorOf(() => below(depth, run)))
      console.log([...kinds].join())`,
    stdout: ['RangeError'],
  },
  'a full stack of native code in callbacks is a RangeError': {
    script: `
      let depth = 0
      const deep = stub(() => { depth++; return callBelow(deep, 300) })
      for (let i = 0; i < 3; i++) console.log(errorOf(() => callBelow(deep, 300)))
      console.log(depth > 9, call(stub((x) => x + 1), 1))`,
    stdout: ['RangeError', 'RangeError', 'RangeError', 'true 2'],
  },
  'functions run again after a script was terminated in a callback': {
    script: `
      const vm = await import('node:vm')
      globalThis.run = () => callOften(stub(() => { for (;;); }), 10)
      for (let i = 0; i < 3; i++) {
        try { vm.runInThisContext('run()', { timeout: 50 }) } catch (error) { console.log(error.code) }
      }
      spawn(stub((x) => x + 5), 1, 1, 0)
      await isIdle()
      await sleep.async(0)
      console.log(call(stub((x) => x + 1), 1), last())`,
    stdout: ['ERR_SCRIPT_EXECUTION_TIMEOUT', 'ERR_SCRIPT_EXECUTION_TIMEOUT', 'ERR_SCRIPT_EXECUTION_TIMEOUT', '2 6'],
  },
  'a function runs below 6 MiB of native frames, on the main thread and in a worker': {
    script: `
      console.log(callBelow(stub((x) => x + 1), 6 * 1024))
      const worker = startWorker('parentPort.postMessage([callBelow(stub((x) => x + 1), 6 * 1024), callBelow(stub((x) => call(stub((y) => y + 1), x)), 4 * 1024)])')
      const [values] = await once(worker, 'message')
      console.log(values.join())`,
    stdout: ['2', '2,2'],
  },
  'the end of a worker refuses calls that wait, and those that come later': {
    script: `
      const worker = startWorker(\`
        spawn(stub((x) => x, { foreignThread: 'wait', refusedResult: -7 }), 1, 3, 50_000)
        store(stub((x) => x, { refusedResult: -8 }))
        parentPort.postMessage('ready')
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)\`)
      await once(worker, 'message')
      console.log(await worker.terminate())
      while (running() > 0) await setTimeout(1)
      console.log(total(), callStored(1))`,
    stdout: ['1', '-21 -8'],
  },
  'process.exit() in a callback ends a worker': {
    script: `
      for (let i = 0; i < 5; i++) {
        const worker = startWorker(\`
          let depth = 0
          const nested = stub((x) => { if (depth++ === 5) process.exit(9); return callOften(nested, 10) ? 0 : 0 })
          callOften(nested, 10)
          parentPort.postMessage('went on')\`)
        worker.on('message', console.log)
        const [code] = await once(worker, 'exit')
        console.log(code)
      }`,
    stdout: ['9', '9', '9', '9', '9'],
  },
  'the end of a worker waits for its calls that run': {
    script: `
      const worker = startWorker("sleep.async(500).then(() => parentPort.postMessage('settled')); parentPort.postMessage('started')")
      await once(worker, 'message')
      worker.on('message', console.log)
      const { driverInfo } = await import('@tenon/core')
      while (driverInfo().threads.running === 0) await setTimeout(1)
      await worker.terminate()
      console.log(slept())`,
    stdout: ['1'],
  },
  'process.exit() ends the process while a thread waits': {
    script: `
      spawn(stub((x) => x, { foreignThread: 'wait' }), 1, 1, 0)
      block(100)
      console.log(running())
      process.exit(3)`,
    code: 3,
    stdout: ['1'],
  },
  'process.exit() ends the process inside nested callbacks': {
    script: `
      let depth = 0
      const nested = stub((x) => { if (depth++ === 30) process.exit(5); return call(nested, x) })
      call(nested, 1)`,
    code: 5,
    stdout: [],
  },
  'process.exit() ends the process in a function that another thread calls': {
    script: `
      spawn(stub(() => process.exit(6), { foreignThread: 'wait' }), 1, 5, 0)
      await setTimeout(20_000)`,
    code: 6,
    stdout: [],
  },
  'process.exit() waits for the calls that run, and not for those in the queue': {
    script: `
      const { driverInfo } = await import('@tenon/core')
      const { limit } = driverInfo().threads
      for (let i = 0; i < limit + 200; i++) void sleep.async(2000)
      while (driverInfo().threads.running < limit) await setTimeout(1)
      process.on('exit', () => console.log(slept() - globalThis.before === limit, driverInfo().threads.queued))
      globalThis.before = slept()
      process.exit(7)`,
    code: 7,
    stdout: ['true 0'],
  },
  'calls after the exit has begun are refused': {
    script: `
      const { inspect } = await import('node:util')
      store(stub((x) => x))
      process.on('exit', () => {
        const late = sleep.async(60_000)
        late.catch(() => {})
        console.log(callStored(5), errorOf(() => stub((x) => x)), /rejected.*?(ScopeClosedError)/s.exec(inspect(late))?.[1])
      })`,
    stdout: ['0 ScopeClosedError ScopeClosedError'],
  },
  'the process ends by itself while a thread calls again and again': {
    script: `spawn(stub((x) => x, { foreignThread: 'wait' }), 1, 1_000_000, 10)`,
    stdout: [],
  },
}

describe(`with the driver ${testedDriver}`, () => {
  test.each(Object.entries(cases))('%s', { timeout: 60_000 }, async (_, { script, ...expected }) => {
    expect(outcomeOf(await start(script))).toEqual(ended(expected))
  })
})

describe('an exit while a call runs', () => {
  /** AddressSanitizer warns before, because the driver has stacks of its own. */
  const text = /^tenon: ended without waiting for native calls: they did not return in /m

  test.each(['0', '200'])('gives up after TENON_EXIT_WAIT=%s', { timeout: 60_000 }, async (wait) => {
    const script = `
      const { driverInfo } = await import('@tenon/core')
      void sleep.async(30_000)
      while (driverInfo().threads.running === 0) await setTimeout(1)
      process.exit(8)`
    const { code, stderr } = await start(script, { TENON_EXIT_WAIT: wait })
    expect(code).toBe(8)
    expect(stderr).toMatch(text)
  })

  test('gives up while a worker waits for its call, too', { timeout: 60_000 }, async () => {
    const script = `
      const { driverInfo } = await import('@tenon/core')
      const worker = startWorker("void sleep.async(30_000); parentPort.postMessage('started')")
      await once(worker, 'message')
      while (driverInfo().threads.running === 0) await setTimeout(1)
      void worker.terminate()
      process.exit(8)`
    const { code, stderr } = await start(script, { TENON_EXIT_WAIT: '200' })
    expect(code).toBe(8)
    expect(stderr).toMatch(text)
  })

  test('waits for it with TENON_EXIT_WAIT=inf', { timeout: 60_000 }, async () => {
    const script = `
      process.on('exit', () => console.log(slept()))
      const { driverInfo } = await import('@tenon/core')
      void sleep.async(1000)
      while (driverInfo().threads.running === 0) await setTimeout(1)
      process.exit(8)`
    expect(outcomeOf(await start(script, { TENON_EXIT_WAIT: 'inf' }))).toEqual(ended({ code: 8, stdout: ['1'] }))
  })

  test('runs no destructor that calls a stub', { timeout: 60_000 }, async () => {
    const script = `store(stub((x) => { console.log('ran'); return x })); process.exit(8)`
    expect(outcomeOf(await start(script, { FIXTURE_CALL_AT_EXIT: '1' }))).toEqual(ended({ code: 40, stdout: [] }))
  })
})

describe('variables of the environment', () => {
  const attempt = `
    try {
      const core = await import('@tenon/core')
      core.driverInfo()
      await core.NativeLibrary.open(${JSON.stringify(fixture)}).function('fixture_sleep_ms', { parameters: ['int32'] }).async(0)
      console.log('valid')
    } catch (error) { console.log(error.name, error.message.split('\\n')[0]) }`
  test.each([
    ['TENON_DRIVER', 'x', 'LoadError TENON_DRIVER must be "node-api" or "koffi", got "x"'],
    ['TENON_EXIT_WAIT', '5s', 'LoadError TENON_EXIT_WAIT must be a number of milliseconds or "inf", got "5s"'],
    ['TENON_EXIT_WAIT', '-1', 'LoadError TENON_EXIT_WAIT must be a number of milliseconds or "inf", got "-1"'],
    ['TENON_THREADS', '0', 'ArgumentError TENON_THREADS must be an integer from 1 to 1024, got "0"'],
    ['TENON_THREADS', '1025', 'ArgumentError TENON_THREADS must be an integer from 1 to 1024, got "1025"'],
    ['TENON_THREADS', '4x', 'ArgumentError TENON_THREADS must be an integer from 1 to 1024, got "4x"'],
    ['TENON_THREADS', '1', 'valid'],
    ['TENON_THREADS', '1024', 'valid'],
    ['TENON_EXIT_WAIT', '', 'valid'],
    ['TENON_STACK', 'own', 'LoadError TENON_STACK must be "thread", got "own"'],
    ['TENON_STACK', 'thread', 'valid'],
  ])('are checked at the first use: %s=%s', { timeout: 60_000 }, async (name, value, expected) => {
    const result = await runScript(attempt, { cwd: packageDirectory, nodeOptions: flags, env: { [name]: value } })
    expect(outcomeOf(result)).toEqual(ended({ stdout: [expected] }))
  })
})
