import { asScript } from '@tenon/config/as-script'
import { testedDriver } from '@tenon/config/package-flags'
import { NativeLibrary } from '@tenon/core'
import { coreLibrary } from '@tenon/core/internal'
import { runScript } from '@tenon/core/testing'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { packageDirectory } from './support/worker.ts'

/** The number of workers that are terminated for each form. */
const ROUNDS = process.env['TENON_SOAK'] === '1' ? 300 : 4

const fixture = join(dirname(coreLibrary().path), 'libcore_fixture.so')
NativeLibrary.open(fixture).close()

/** What the worker does without end when it is terminated. */
const forms: Readonly<Record<string, string>> = {
  'declares functions': `
    for (;;) Linker.downcall(abs, int32ToInt32)`,
  'calls functions': `
    const call = Linker.downcall(abs, int32ToInt32)
    for (let i = 0; ; i++) call(-i | 0)`,
  'makes stubs, calls and closes them': `
    for (;;) ResourceScope.ofConfined().run((own) => {
      const stub = upcallStub((x) => x + 1, int32ToInt32, own)
      callFunction(stub, 1)
    })`,
  'is in nested callbacks': `
    let depth = 0
    const stub = upcallStub((x) => {
      if (depth === 20) return x
      depth++
      try { return callFunction(stub, x + 1) } finally { depth-- }
    }, int32ToInt32, scope)
    for (;;) callFunction(stub, 1)`,
  'throws in callbacks': `
    const stub = upcallStub(() => { throw new Error('x') }, int32ToInt32, scope)
    for (;;) try { callFunction(stub, 1) } catch {}`,
  'is called back often by one call': `
    const stub = upcallStub((x) => x, int32ToInt32, scope)
    for (;;) callOften(stub, 100_000)`,
  'is called by other threads': `
    const stub = upcallStub((x) => x + 1, int32ToInt32, scope)
    for (let i = 0; i < 4; i++) spawn(stub, 1, 2000, 10)`,
  'has asynchronous calls in flight': `
    const stub = upcallStub((x) => x, int32ToInt32, scope)
    for (let i = 0; i < 8; i++) (async () => { for (;;) await callOften.async(stub, 10) })()
    for (let i = 0; i < 8; i++) (async () => { for (;;) await sleep.async(1) })()`,
  'maps files': `
    for (;;) ResourceScope.ofConfined().run((own) => MemorySegment.mapFile(workerData.file, own, { access: 'copy' }))`,
  'passes structs': `
    const pair = MemoryLayout.struct({ quot: MemoryLayout.int32, rem: MemoryLayout.int32 })
    const div = Linker.downcall(SymbolLookup.ofProcess().get('div'), { result: pair, parameters: ['int32', 'int32'] })
    for (;;) NativeScope.ofConfined().run((own) => div(own, 17, 5))`,
}

const prelude = `
  import { parentPort, workerData } from 'node:worker_threads'
  import { MemoryLayout, MemorySegment, NativeScope, ResourceScope } from '@tenon/scope'
  import { Linker, SymbolLookup, upcallStub } from '@tenon/scope/linker'
  const scope = ResourceScope.ofConfined()
  const abs = SymbolLookup.ofProcess().get('abs')
  const int32ToInt32 = { result: 'int32', parameters: ['int32'] }
  const fixture = SymbolLookup.ofLibrary(workerData.fixture, scope)
  const callFunction = Linker.downcall(fixture.get('fixture_call_function'), { result: 'int32', parameters: ['pointer', 'int32'] })
  const callOften = Linker.downcall(fixture.get('fixture_call_often'), { result: 'int64', parameters: ['pointer', 'int32'] })
  const spawn = Linker.downcall(fixture.get('fixture_spawn'), { result: 'int32', parameters: ['pointer', 'int32', 'int32', 'int32'] })
  const sleep = Linker.downcall(fixture.get('fixture_sleep_ms'), { parameters: ['int32'] })
  parentPort.postMessage('running')
`

/** koffi ends the process if a buffer over native memory is made in a worker that is being terminated. */
const testedForms = Object.entries(forms).filter(([name]) => testedDriver === 'node-api' || name !== 'maps files')

if (process.platform !== 'win32') {
  describe(`with the driver ${testedDriver}, a worker can be terminated at any moment while it`, () => {
    test.each(testedForms)('%s', { timeout: 60_000 + 1000 * ROUNDS }, async (_, form) => {
      const script = `
        import { once } from 'node:events'
        import { setTimeout } from 'node:timers/promises'
        import { Worker } from 'node:worker_threads'
        const data = ${JSON.stringify({ fixture, file: join(packageDirectory, 'package.json') })}
        const source = ${JSON.stringify(asScript(prelude + form))}
        for (let i = 0; i < ${ROUNDS}; i++) {
          const worker = new Worker(source, { eval: true, workerData: data })
          worker.on('error', (error) => { if (error.code !== 'ERR_WORKER_OUT_OF_MEMORY') throw error })
          await once(worker, 'message')
          await setTimeout(Math.random() * 20)
          await worker.terminate()
        }
        console.log('all ended')
      `
      const { code, signal, timedOut, stdout, stderr } = await runScript(script, {
        cwd: packageDirectory,
        timeout: 50_000 + 1000 * ROUNDS,
      })
      expect({ code, signal, timedOut, stdout, stderr }).toEqual({
        code: 0,
        signal: null,
        timedOut: false,
        stdout: 'all ended\n',
        stderr: '',
      })
    })
  })
}
