import { packageEntry, packageFlags, sourceFlags } from '@tenon/config/package-flags'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fileURLToPath } from 'node:url'
import { runScript, type ScriptResult } from '@tenon/core/testing'
import { kernelLibrary } from '@tenon/kernels'

const root = fileURLToPath(new URL('..', import.meta.url))
const packed = JSON.stringify(kernelLibrary('packed'))

/** Runs a program in a new process, with the package and the example kernels. */
async function run(body: string, flags: readonly string[] = packageFlags): Promise<ScriptResult> {
  return runScript(
    `import { getGlobal, Module, packedFunc, registerGlobal } from '@tenon/packed-func'
     import { Worker, isMainThread, parentPort } from 'node:worker_threads'
     const lib = Module.open(${packed})
     ${body}`,
    { cwd: root, nodeOptions: [...flags, '--no-warnings', '--expose-gc'] },
  )
}

async function outputOf(body: string, flags?: readonly string[]): Promise<string> {
  const { code, signal, stdout, stderr } = await run(body, flags)
  expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' })
  return stdout.trim()
}

/** The expression for a worker that runs the text of a module. */
const worker = (body: string): string =>
  `new Worker(new URL('data:text/javascript,' + encodeURIComponent(${JSON.stringify(
    `import { createRequire } from 'node:module'
     import { parentPort } from 'node:worker_threads'
     const { getGlobal, Module, packedFunc, registerGlobal, removeGlobal, traceErrors } = await import(${JSON.stringify(packageEntry(new URL('..', import.meta.url)))})
     ${body}`,
  )})))`

/** Reads outside the bounds of a wasm memory, which the engine detects by a signal. */
const trap = `const bytes = [0,97,115,109,1,0,0,0,1,5,1,96,0,1,127,3,2,1,0,5,3,1,0,1,7,5,1,1,102,0,0,10,9,1,7,0,65,124,40,2,0,11]
  const wasm = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(bytes)))
  const trap = () => { try { wasm.exports.f() } catch (error) { console.log(error.constructor.name) } }`

describe('hazards', () => {
  it('a library that handles SIGSEGV does not break wasm traps', async () => {
    expect(
      await outputOf(
        `${trap}
         const { host, openLibrary } = await import(${JSON.stringify(new URL('../src/native/host.ts', import.meta.url).href)})
         console.log(openLibrary(host(), ${JSON.stringify(kernelLibrary('packed_signals'))}) > 0)
         trap()`,
        sourceFlags,
      ),
    ).toBe('true\nRuntimeError')
    // Loaded in the usual way it ends the process, so the test above would fail.
    const { code } = await run(
      `${trap}; const { NativeLibrary } = await import('@tenon/core'); NativeLibrary.open(${JSON.stringify(kernelLibrary('packed_signals'))}); trap()`,
    )
    expect(code).toBe(99)
  })

  it('an error of another thread reaches the caller', async () => {
    expect(
      await outputOf(
        `const failures = Array.from({ length: 20 }, (_, i) => lib.get('fail_as').async(i % 2 ? 'KeyError' : 'ValueError'))
         const kinds = (await Promise.allSettled(failures)).map(({ reason }) => reason.kind)
         console.log(new Set(kinds.filter((_, i) => i % 2)), new Set(kinds.filter((_, i) => !(i % 2))))
         console.log(lib.get('sum').tryCall(1, 2).value)`,
      ),
    ).toBe("Set(1) { 'KeyError' } Set(1) { 'ValueError' }\n3")
  })

  it('the process ends while objects and errors of kernels are alive', async () => {
    expect(
      await outputOf(
        `lib.get('keep')(() => 1)
         globalThis.errors = []
         for (const kind of ['KeyError', 'ValueError']) try { lib.get('fail_as')(kind) } catch (error) { errors.push(error) }
         console.log(errors.length)`,
      ),
    ).toBe('2')
  })

  it('a worker ends while objects and errors of kernels are alive', async () => {
    const body = `const lib = Module.open(${packed})
      globalThis.kept = []
      try { lib.get('fail_as')('KeyError') } catch (error) { kept.push(error) }
      lib.get('keep')(packedFunc(() => 1))
      parentPort.postMessage(lib.get('sum')(1, 2))`
    expect(
      await outputOf(
        `const w = ${worker(body)}
         w.on('message', (sum) => console.log(sum))
         w.on('exit', (code) => { lib.get('keep')(null); console.log('exit', code) })`,
      ),
    ).toBe('3\nexit 0')
  })

  it('native code stops at an error that a function throws', async () => {
    expect(
      await outputOf(
        `let reached = 0
         const thrower = packedFunc(() => { throw new RangeError('no') })
         const after = packedFunc(() => { reached++ })
         const both = packedFunc((f, g) => { lib.get('call')(f); lib.get('call')(g) })
         console.log(both.tryCall(thrower, after).kind, reached)
         process.on('uncaughtException', () => console.log('thrown later'))
         await new Promise((resolve) => setTimeout(resolve, 10))
         console.log(both.tryCall(after, after).ok, reached)`,
      ),
    ).toBe('ValueError 0\ntrue 2')
  })

  it('more functions are alive than the driver has slots for', async () => {
    expect(
      await outputOf(
        `const all = Array.from({ length: 10_000 }, (_, i) => packedFunc(() => i))
         console.log(all.reduce((sum, f) => sum + f(), 0))`,
      ),
    ).toBe('49995000')
  })

  it('another thread releases a function while this one waits', async () => {
    expect(
      await outputOf(
        `lib.get('keep')(() => 1)
         lib.get('drop_on_thread')()
         console.log(lib.get('kept')())`,
      ),
    ).toBe('null')
  })

  it('a foreign thread is refused at once while this one waits for it', async () => {
    expect(await outputOf(`console.log(lib.get('call_on_thread').tryCall(() => 1).kind)`)).toBe('ThreadError')
  })

  it('calls of a function of a terminated worker fail', async () => {
    const body = `registerGlobal('test.hazard.worker', () => 1); parentPort.postMessage('ready'); setInterval(() => {}, 1000)`
    expect(
      await outputOf(
        `const w = ${worker(body)}
         w.once('message', async () => {
           const f = getGlobal('test.hazard.worker')
           console.log(f.tryCall().kind)
           await w.terminate()
           console.log(f.tryCall().kind)
           getGlobal('ffi.FunctionRemoveGlobal')('test.hazard.worker')
           f.close()
         })`,
      ),
    ).toBe('ThreadError\nThreadError')
  })

  it('calls that wait for a worker fail when it ends, and so do later calls', async () => {
    const body = (then: string): string =>
      `registerGlobal('test.hazard.relay', packedFunc((x) => 2 * x, { relay: { timeout: 60_000 } }))
       registerGlobal('test.hazard.never', packedFunc(() => new Promise(() => {}), { async: true, relay: { timeout: 60_000 } }))
       parentPort.postMessage('ready'); const timer = setInterval(() => {}, 1000)
       ${then}`
    expect(
      await outputOf(
        `const fate = (name) => getGlobal(name).async(21).then((x) => x, (error) => error.kind + ': ' + error.sentence)
         const w = ${worker(body("parentPort.on('message', () => { for (;;); })"))}
         await new Promise((resolve) => w.once('message', resolve))
         console.log(await fate('test.hazard.relay'))
         const never = fate('test.hazard.never')
         await new Promise((resolve) => setTimeout(resolve, 100))
         w.postMessage('be busy')
         await new Promise((resolve) => setTimeout(resolve, 100))
         const waiting = fate('test.hazard.relay')
         await new Promise((resolve) => setTimeout(resolve, 100))
         await w.terminate()
         console.log(await waiting); console.log(await never); console.log(await fate('test.hazard.relay'))`,
      ),
    ).toBe(
      ['42', ...Array<string>(3).fill('ThreadError: the thread that owns this TypeScript function has ended')].join(
        '\n',
      ),
    )
    expect(
      await outputOf(
        `const w = ${worker(body("parentPort.once('message', () => process.exit())"))}
         await new Promise((resolve) => w.once('message', resolve))
         w.postMessage('end'); await new Promise((resolve) => w.once('exit', resolve))
         console.log(await getGlobal('test.hazard.relay').async(1).catch((error) => error.kind))`,
      ),
    ).toBe('ThreadError')
  })

  it('calls that wait for functions of two copies of the package fail when their worker ends', async () => {
    // The program uses the other one of both.
    const path = packageFlags.length === 0 ? '../src/index.ts' : '../dist/index.js'
    const second = JSON.stringify(new URL(path, import.meta.url).href)
    const body = `const other = await import(${second})
      registerGlobal('test.hazard.first', packedFunc((x) => 2 * x, { relay: { timeout: 60_000 } }))
      other.registerGlobal('test.hazard.second', other.packedFunc((x) => 3 * x, { relay: { timeout: 60_000 } }))
      parentPort.postMessage(other.packedFunc === packedFunc); parentPort.on('message', () => { for (;;); })`
    expect(
      await outputOf(
        `const both = () => Promise.all(['first', 'second'].map((name) => getGlobal('test.hazard.' + name).async(21).catch((error) => error.kind)))
         const w = ${worker(body)}
         console.log(await new Promise((resolve) => w.once('message', resolve)), await both())
         w.postMessage('be busy'); await new Promise((resolve) => setTimeout(resolve, 100))
         const waiting = both()
         await new Promise((resolve) => setTimeout(resolve, 100))
         await w.terminate(); console.log(await waiting, await both())`,
      ),
    ).toBe("false [ 42, 63 ]\n[ 'ThreadError', 'ThreadError' ] [ 'ThreadError', 'ThreadError' ]")
  })

  it('traceErrors(true) adds the frames of another thread to an error', async () => {
    const body = (traced: boolean): string =>
      `traceErrors(${traced})
       const lib = Module.open(${packed})
       registerGlobal('test.hazard.trace', packedFunc(function inTheWorker() { throw new RangeError('there') }, { relay: true }))
       registerGlobal('test.hazard.through', packedFunc(function passesOn() { lib.get('fail_as')('KeyError') }, { relay: true }))
       parentPort.postMessage('ready')
       parentPort.once('message', () => process.exit())`
    const told = async (traced: boolean): Promise<string> =>
      outputOf(
        `const w = ${worker(body(traced))}
         await new Promise((resolve) => w.once('message', resolve))
         for (const name of ['trace', 'through']) {
           const error = await getGlobal('test.hazard.' + name).async().catch((caught) => caught)
           console.log(error.kind, /in (\\w*\\.)?(inTheWorker|passesOn)$/m.test(error.nativeBacktrace))
         }
         w.postMessage('end')`,
      )
    expect(await told(true)).toBe('ValueError true\nKeyError true')
    expect(await told(false)).toBe('ValueError false\nKeyError false')
  })

  it('a signal that is aborted late reaches no job that native code has freed', async () => {
    const body = `const { openStack } = await import(${JSON.stringify(new URL('../src/native/stack.ts', import.meta.url).href)})
      const { getEventListeners } = await import('node:events')
      const { tn_packed_job_cancel: cancel } = openStack().host
      openStack().host.tn_packed_job_cancel = (job) => { console.log('cancels'); cancel(job) }
      const controller = new AbortController()
      const { signal } = controller
      const start = () => lib.get('wait_for_signal').with({ signal }).async(1000).catch((error) => console.log(error.message.slice(0, 13)))
      const listeners = () => console.log(getEventListeners(signal, 'abort').length)`
    // Listeners for the exit run in the order in which they were added.
    expect(
      await outputOf(
        `${body}; start(); listeners(); process.on('exit', () => controller.abort()); setTimeout(() => process.exit(), 50)`,
        sourceFlags,
      ),
    ).toBe('1')
    expect(await outputOf(`${body}; start(); controller.abort()`, sourceFlags)).toMatch(/^cancels\n/)
    expect(
      await outputOf(
        `process.env.TENON_THREADS = '0'; ${body}; await start(); listeners(); controller.abort()`,
        sourceFlags,
      ),
    ).toBe('TENON_THREADS\n0')
  })

  it('a destructor that calls a TypeScript function runs when a job cannot be started', async () => {
    const stubs = JSON.stringify(new URL('./stub-function.ts', import.meta.url).href)
    expect(
      await outputOf(
        `process.env.TENON_THREADS = '0'
         const { ending } = await import(${stubs})
         const callback = packedFunc((x) => console.log('ended', x))
         const object = ending(() => callback(1))
         const started = lib.get('echo').async([object]).catch((error) => console.log(error.message.slice(0, 13)))
         console.log(1)
         object.close(); await started`,
      ),
    ).toBe('1\nended 1\nTENON_THREADS')
  })

  it('endless nesting throws RecursionError', async () => {
    expect(
      await outputOf(
        `const f = packedFunc(() => f())
         console.log(f.tryCall().kind, packedFunc(() => 1)())`,
      ),
    ).toBe('RecursionError 1')
  })

  it('numbers are not truncated to narrow integers, nor floats to integers', async () => {
    expect(
      await outputOf(
        `const { t, typedFunc, accept, legacyFunc } = await import('@tenon/packed-func')
         const kindOf = (run) => { try { return run() } catch (error) { return error.kind } }
         const narrow = lib.get('sum').typed([t.int32], t.int)
         console.log(kindOf(() => narrow(2 ** 31)), kindOf(() => narrow(1.5)), narrow(-(2 ** 31)))
         console.log(kindOf(() => lib.get('sum').typed([t.float], t.int8)(300)))
         console.log(kindOf(() => typedFunc([accept.int], (x) => x)(1.5)))
         console.log(kindOf(() => legacyFunc((args) => void args.at(0).as('int32'))(2 ** 40)))`,
      ),
    ).toBe('TypeError TypeError -2147483648\nTypeError\nTypeError\nInternalError')
  })

  it('calls and callbacks create no view of native memory', async () => {
    expect(
      await outputOf(
        `const { tensor } = await import('@tenon/core')
         // Made before, because small tensors share a view.
         const [x, y] = [tensor('float32', [2]), tensor('float32', [2])]
         const { driver } = (await import('@tenon/core/internal')).coreLibrary()
         const made = { view: 0 }
         const { bufferOver } = driver
         driver.bufferOver = (...args) => { made.view++; return bufferOver(...args) }
         const [sum, echo, call, addOne] = ['sum', 'echo', 'call', 'add_one'].map((name) => lib.get(name))
         const twice = packedFunc((v) => v)
         for (let i = 0; i < 1000; i++) {
           sum(i, 2.5); addOne(x, y); call(twice, 'a text that is longer than seven'); echo(new Uint8Array(20))
         }
         console.log(made)
         // A native tensor needs a view, which shows that the counter works.
         lib.get('make_range')(3)
         console.log(made.view)`,
      ),
    ).toBe('{ view: 0 }\n1')
  })

  it('an error of older code has a shorter cell, which is not read beyond its end', async () => {
    expect(
      await outputOf(
        `try { lib.get('fail_as_before')() } catch (error) { console.log(error.kind, error.sentence, error.cause) }`,
      ),
    ).toBe('OldError made by old code undefined')
  })

  it('threads register functions concurrently', async () => {
    const body = `for (let i = 0; i < 300; i++) {
        registerGlobal('test.race.' + i, () => 1, { override: true }).close()
        getGlobal('test.race.' + i).close()
        removeGlobal('test.race.' + i)
      }
      parentPort.postMessage('done')`
    expect(
      await outputOf(
        `const all = [1, 2, 3].map(() => ${worker(body.replaceAll("getGlobal('test.race.' + i).close()", ''))})
         await Promise.all(all.map((w) => new Promise((resolve) => w.once('exit', resolve))))
         console.log('ended')`,
      ),
    ).toBe('ended')
  })
})

if (process.platform === 'linux')
  describe('a path that is not a regular file', () => {
    it.each(['', ', { legacy: true }'])(
      'Module.open() of a pipe%s throws LoadError instead of waiting',
      async (options) => {
        const directory = mkdtempSync(join(tmpdir(), 'tenon-pipe-'))
        try {
          const path = JSON.stringify(join(directory, 'pipe.so'))
          const body = `
          execFileSync('mkfifo', [${path}])
          try { Module.open(${path}${options}) } catch (error) { console.log(error.name) }`
          const { timedOut, stdout } = await runScript(
            `import { execFileSync } from 'node:child_process'
           import { Module } from '@tenon/packed-func'
           ${body}`,
            { cwd: root, nodeOptions: [...packageFlags, '--no-warnings'], timeout: 10_000 },
          )
          expect({ timedOut, stdout }).toEqual({ timedOut: false, stdout: 'LoadError\n' })
        } finally {
          rmSync(directory, { recursive: true })
        }
      },
    )
  })
