import { describe, expect, it } from 'vitest'
import { fileURLToPath } from 'node:url'
import { runScript, type ScriptResult } from '@tenon/core/testing'
import { kernelLibrary } from '@tenon/kernels'

const root = fileURLToPath(new URL('..', import.meta.url))
const packed = JSON.stringify(kernelLibrary('packed'))

/** Runs a program in a process of its own, with the package and the example kernels at hand. */
async function run(body: string): Promise<ScriptResult> {
  return runScript(
    `import { getGlobal, Module, packedFunc, registerGlobal } from '@tenon/packed-func'
     import { Worker, isMainThread, parentPort } from 'node:worker_threads'
     const lib = Module.load(${packed})
     ${body}`,
    { cwd: root, nodeOptions: ['--conditions=@tenon/source', '--no-warnings', '--expose-gc'] },
  )
}

async function outputOf(body: string): Promise<string> {
  const { code, signal, stdout, stderr } = await run(body)
  expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' })
  return stdout.trim()
}

/** A worker that runs a module's text. */
const worker = (body: string): string =>
  `new Worker(new URL('data:text/javascript,' + encodeURIComponent(${JSON.stringify(
    `import { createRequire } from 'node:module'
     import { parentPort } from 'node:worker_threads'
     const { getGlobal, Module, packedFunc, registerGlobal, removeGlobal } = await import(${JSON.stringify(new URL('../src/index.ts', import.meta.url).href)})
     ${body}`,
  )})))`

/** Reads out of the bounds of a wasm memory, which the engine hears of by a signal. */
const trap = `const bytes = [0,97,115,109,1,0,0,0,1,5,1,96,0,1,127,3,2,1,0,5,3,1,0,1,7,5,1,1,102,0,0,10,9,1,7,0,65,124,40,2,0,11]
  const wasm = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(bytes)))
  const trap = () => { try { wasm.exports.f() } catch (error) { console.log(error.constructor.name) } }`

describe('hazards', () => {
  it('H1: a library that takes SIGSEGV leaves wasm its traps', async () => {
    expect(
      await outputOf(
        `${trap}
         const { host } = await import(${JSON.stringify(new URL('../src/native/host.ts', import.meta.url).href)})
         console.log(host().openLibrary(${JSON.stringify(kernelLibrary('packed_signals'))}) > 0)
         trap()`,
      ),
    ).toBe('true\nRuntimeError')
    // Loaded as others load it, it ends the process: the test would notice.
    const { code } = await run(
      `${trap}; const { NativeLibrary } = await import('@tenon/core'); NativeLibrary.open(${JSON.stringify(kernelLibrary('packed_signals'))}); trap()`,
    )
    expect(code).toBe(99)
  })

  it('H3: objects and errors of kernels are alive when the process ends', async () => {
    expect(
      await outputOf(
        `lib.get('keep').call(() => 1)
         globalThis.errors = []
         for (const kind of ['KeyError', 'ValueError']) try { lib.get('fail_as').call(kind) } catch (error) { errors.push(error) }
         console.log(errors.length)`,
      ),
    ).toBe('2')
  })

  it('H3: in a worker that ends', async () => {
    const body = `const lib = Module.load(${packed})
      globalThis.kept = []
      try { lib.get('fail_as').call('KeyError') } catch (error) { kept.push(error) }
      lib.get('keep').call(packedFunc(() => 1))
      parentPort.postMessage(lib.get('sum').call(1, 2))`
    expect(
      await outputOf(
        `const w = ${worker(body)}
         w.on('message', (sum) => console.log(sum))
         w.on('exit', (code) => { lib.get('keep').call(null); console.log('exit', code) })`,
      ),
    ).toBe('3\nexit 0')
  })

  it('H5: more functions live than the driver has slots for', async () => {
    expect(
      await outputOf(
        `const all = Array.from({ length: 10_000 }, (_, i) => packedFunc(() => i))
         console.log(all.reduce((sum, f) => sum + f.call(), 0))`,
      ),
    ).toBe('49995000')
  })

  it('H6: a function is given back on another thread while this one waits', async () => {
    expect(
      await outputOf(
        `lib.get('keep').call(() => 1)
         lib.get('drop_on_thread').call()
         console.log(lib.get('kept').call())`,
      ),
    ).toBe('null')
  })

  it('H7: a foreign thread is refused at once, while this one waits for it', async () => {
    expect(await outputOf(`console.log(lib.get('call_on_thread').tryCall(() => 1).kind)`)).toBe('ThreadError')
  })

  it('H8: a function of a worker that was terminated is refused', async () => {
    const body = `registerGlobal('test.hazard.worker', () => 1); parentPort.postMessage('ready'); setInterval(() => {}, 1000)`
    expect(
      await outputOf(
        `const w = ${worker(body)}
         w.once('message', async () => {
           const f = getGlobal('test.hazard.worker')
           console.log(f.tryCall().kind)
           await w.terminate()
           console.log(f.tryCall().kind)
           getGlobal('ffi.FunctionRemoveGlobal').call('test.hazard.worker')
           f.dispose()
         })`,
      ),
    ).toBe('ThreadError\nThreadError')
  })

  it('H9: nesting without end is an error of its own', async () => {
    expect(
      await outputOf(
        `const f = packedFunc(() => f.call())
         console.log(f.tryCall().kind, packedFunc(() => 1).call())`,
      ),
    ).toBe('RecursionError 1')
  })

  it('H12: an error of older code has a shorter cell, and nothing behind it is read', async () => {
    expect(
      await outputOf(
        `try { lib.get('fail_as_before').call() } catch (error) { console.log(error.kind, error.sentence, error.cause) }`,
      ),
    ).toBe('OldError made by old code undefined')
  })

  it('H13: threads register at the same time', async () => {
    const body = `for (let i = 0; i < 300; i++) {
        registerGlobal('test.race.' + i, () => 1, { override: true }).dispose()
        getGlobal('test.race.' + i).dispose()
        removeGlobal('test.race.' + i)
      }
      parentPort.postMessage('done')`
    expect(
      await outputOf(
        `const all = [1, 2, 3].map(() => ${worker(body.replaceAll("getGlobal('test.race.' + i).dispose()", ''))})
         await Promise.all(all.map((w) => new Promise((resolve) => w.once('exit', resolve))))
         console.log('ended')`,
      ),
    ).toBe('ended')
  })
})
