import { packageFlags, testedDriver } from '@tenon/config/package-flags'
import { coreLibrary } from '@tenon/core/internal'
import { runScript } from '@tenon/core/testing'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { packageDirectory } from './support/worker.ts'

const directory = dirname(coreLibrary().path)

const prelude = `
  import { once } from 'node:events'
  import { setTimeout } from 'node:timers/promises'
  import { NativeLibrary } from '@tenon/core'
  import { ResourceScope } from '@tenon/scope'
  import { Linker, SymbolLookup, upcallStub } from '@tenon/scope/linker'
  const scope = ResourceScope.ofConfined()
  const int32ToInt32 = { result: 'int32', parameters: ['int32'] }
  const fixture = SymbolLookup.ofLibrary(${JSON.stringify(join(directory, 'libcore_fixture.so'))}, scope)
  const link = (name, result, ...parameters) => Linker.downcall(fixture.get('fixture_' + name), { result, parameters })
  const call = link('call_function', 'int32', 'pointer', 'int32')
  const stub = (run) => upcallStub(run, int32ToInt32, scope)
`

/** Runs a script, which must end by itself, and returns what it prints. */
async function outputOf(script: string, env: Record<string, string> = {}, exitCode = 0): Promise<string> {
  const { code, signal, timedOut, stdout, stderr } = await runScript(prelude + script, {
    cwd: packageDirectory,
    nodeOptions: [...packageFlags, '--no-warnings', '--expose-gc'],
    env,
  })
  expect({ code, signal, timedOut }, stderr).toEqual({ code: exitCode, signal: null, timedOut: false })
  return (stdout + stderr).trim()
}

describe(`with the driver ${testedDriver}, an interrupted script`, () => {
  test('ends alone: calls and callbacks work afterwards', { timeout: 60_000 }, async () => {
    const script = `
      import vm from 'node:vm'
      const double = stub((x) => 2 * x)
      const forever = stub(() => { for (;;); })
      for (const code of ['for (;;);', 'call(forever, 1)']) {
        try { vm.runInNewContext(code, { call, forever }, { timeout: 50 }) } catch (error) { console.log(error.code) }
        console.log(call(double, 21))
      }
      console.log(await link('call_function', 'int32', 'pointer', 'int32').async(double, 4))`
    const interrupted = 'ERR_SCRIPT_EXECUTION_TIMEOUT\n42\n'
    expect(await outputOf(script)).toBe(`${interrupted}${interrupted}8`)
  })
})

test('another addon calls stubs on the thread of JavaScript, also inside of calls', { timeout: 60_000 }, async () => {
  const script = `
    import { createRequire } from 'node:module'
    const addon = createRequire(import.meta.url)(${JSON.stringify(join(directory, 'stub_caller.node'))})
    const inner = stub((x) => x + 1)
    let sum = 0
    for (let i = 0; i < 300; i++) { sum += addon.call(inner.address, 3); if (i % 50 === 0) gc() }
    const outer = stub((x) => {
      let inside = 0
      for (let i = 0; i < 300; i++) { inside += addon.call(inner.address, 7); if (i % 50 === 0) gc() }
      return inside + x
    })
    console.log(sum, call(outer, 1), call(inner, 1))`
  expect(await outputOf(script)).toBe('1800 8401 2')
})

test('threads that call all the time do not starve the event loop', { timeout: 60_000 }, async () => {
  const script = `
    const slow = stub((x) => { const end = performance.now() + 2; while (performance.now() < end); return x })
    const spawn = link('spawn', 'int32', 'pointer', 'int32', 'int32', 'int32')
    for (let i = 0; i < 3; i++) spawn(slow, 1, 400, 0)
    let ticks = 0
    const timer = setInterval(() => ticks++, 10)
    await setTimeout(1000)
    clearInterval(timer)
    console.log(ticks > 10)
    process.exit(0)`
  expect(await outputOf(script)).toBe('true')
})

describe('an exit', () => {
  test('gives up while native code holds the lock of a stream', { timeout: 60_000 }, async () => {
    const script = `
      void link('wait_for_input', 'int32').async()
      await setTimeout(50)
      process.exit(7)`
    expect(await outputOf(script, { TENON_EXIT_WAIT: '100' }, 7)).toMatch(
      /^tenon: ended without waiting for native calls/,
    )
  })

  test('does not wait for calls that workers start meanwhile', { timeout: 60_000 }, async () => {
    const script = `
      import { asScript } from '@tenon/config/as-script'
      import { Worker } from 'node:worker_threads'
      const code = \`
        import { parentPort } from 'node:worker_threads'
        import { NativeLibrary } from '@tenon/core'
        const sleep = NativeLibrary.open(${JSON.stringify(join(directory, 'libcore_fixture.so'))}).function('fixture_sleep_ms', { parameters: ['int32'] })
        for (let i = 0; i < 4; i++) (async () => { for (;;) await sleep.async(200 + 50 * i) })()
        parentPort.postMessage('running')\`
      const worker = new Worker(asScript(code), { eval: true })
      call(stub((x) => x), 1)
      await once(worker, 'message')
      await setTimeout(100)
      process.exit(0)`
    expect(await outputOf(script, { TENON_EXIT_WAIT: '3000' })).toBe('')
  })
})
