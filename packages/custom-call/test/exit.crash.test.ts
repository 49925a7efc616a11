import { packageFlags } from '@tenon/config/package-flags'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { runScript, type ScriptOptions, type ScriptResult } from '@tenon/core/testing'

const packageDirectory = fileURLToPath(new URL('..', import.meta.url))

/** The number of exits while a thread writes. `TENON_EXITS=1000` makes it the soak. */
const EXITS = Number(process.env['TENON_EXITS'] ?? 20)

function script(code: string, options: ScriptOptions = {}): Promise<ScriptResult> {
  return runScript(
    `import { dirname, join } from 'node:path'
     import { isMainThread, Worker } from 'node:worker_threads'
     import { NativeLibrary, tensor } from '@tenon/core'
     import { coreLibrary } from '@tenon/core/internal'
     import { f32, s64, typedHandler } from '@tenon/custom-call'
     const library = NativeLibrary.open(join(dirname(coreLibrary().path), 'liboverrun.so'))
     const y = tensor('f32', [1024])
     const attrs = { offset: s64(0), count: s64(4096), operand: s64(-1) }
     const slow = typedHandler(library, 'write_always').prepare({ results: [f32([1024])], attrs })
     const hasBegun = async () => { while (y.view()[0] === 0) await new Promise((resolve) => setTimeout(resolve, 1)) }
     ${code}`,
    {
      cwd: packageDirectory,
      nodeOptions: [...packageFlags, '--disable-warning=ExperimentalWarning', '--expose-gc'],
      ...options,
    },
  )
}

if (process.platform === 'linux')
  describe('a handler whose future never settles', () => {
    test('signal rejects within 50 ms, and the tensors stay held', async () => {
      const { code, stdout, stderr } = await script(
        `import { NativeScope } from '@tenon/scope'
         const scope = NativeScope.ofConfined()
         const out = tensor('f32', [1024], undefined, { allocator: scope })
         const controller = new AbortController()
         const reason = new Error('enough')
         const run = slow.runAsync([], [out], { signal: controller.signal })
         while (out.view()[0] === 0) await new Promise((resolve) => setTimeout(resolve, 1))
         const start = performance.now()
         controller.abort(reason)
         await run.catch((error) => console.log(error === reason, performance.now() - start < 50))
         for (const owner of [scope, slow]) try { owner.close() } catch (error) { console.log(error.code) }`,
        { env: { TENON_EXIT_WAIT: '100' } },
      )
      // The event loop ends although the run goes on.
      expect([code, stdout]).toEqual([0, 'true true\nTENON_SCOPE_HELD\nTENON_SCOPE_HELD\n'])
      expect(stderr).toMatch(/^tenon: ended without waiting for write_always: its future was not settled in 100 ms\./)
    })

    test('process.exit() ends with its code within TENON_EXIT_WAIT and a second', async () => {
      const { code, signal, stdout, stderr } = await script(
        `import { writeSync } from 'node:fs'
         slow.runAsync([], [y])
         await hasBegun()
         writeSync(1, String(Date.now()))
         process.exit(3)`,
        { env: { TENON_EXIT_WAIT: '1000' } },
      )
      const took = Date.now() - Number(stdout)
      expect([code, signal]).toEqual([3, null])
      expect(took).toBeGreaterThan(900)
      expect(took).toBeLessThan(2000)
      expect(stderr).toMatch(/^tenon: ended without waiting for write_always: its future was not settled in 1 s\./)
    })

    test('TENON_EXIT_WAIT=inf waits, and 0 does not', async () => {
      const exit = `slow.runAsync([], [y]); await hasBegun(); process.exit(4)`
      const [never, always] = await Promise.all([
        script(exit, { env: { TENON_EXIT_WAIT: '0' } }),
        script(exit, { env: { TENON_EXIT_WAIT: 'inf' }, timeout: 4000 }),
      ])
      // The thread of the run may not have gone on since its first write.
      expect([never.code, never.stderr]).toEqual([
        4,
        expect.stringMatching(/was not settled in 0 s|did not return in 0/),
      ])
      expect([always.timedOut, always.stderr]).toEqual([true, ''])
    })

    test('a run that has not started is taken back, and one in native code is named', async () => {
      const { code, stderr } = await script(
        `import { kernelLibrary } from '@tenon/kernels'
         import { s32 } from '@tenon/custom-call'
         const wait = typedHandler(NativeLibrary.open(kernelLibrary('kernels')), 'wait_for_flag').prepare({ operands: [s32([])], results: [s32([])] })
         for (let i = 0; i < 4; i++) wait.runAsync([tensor('s32', [])], [tensor('s32', [])])
         setTimeout(() => process.exit(5), 100)`,
        { env: { TENON_EXIT_WAIT: '300', TENON_THREADS: '1' } },
      )
      expect([code, stderr]).toEqual([
        5,
        expect.stringMatching(/^tenon: ended without waiting for wait_for_flag: it did not return in 300 ms\./),
      ])
    })

    test('a worker that ends waits for its runs until the process exits', async () => {
      const { code, stdout, stderr } = await script(
        `import { asScript } from '@tenon/config/as-script'
         const worker = new Worker(asScript(\`
           import { NativeLibrary, tensor } from '@tenon/core'
           import { f32, s64, typedHandler } from '@tenon/custom-call'
           import { parentPort } from 'node:worker_threads'
           const y = tensor('f32', [1024])
           const attrs = { offset: s64(0), count: s64(4096), operand: s64(-1) }
           typedHandler(NativeLibrary.open(\${JSON.stringify(library.path)}), 'write_always').prepare({ results: [f32([1024])], attrs }).runAsync([], [y])
           while (y.view()[0] === 0) await new Promise((resolve) => setTimeout(resolve, 1))
           parentPort.postMessage('begun')
           process.exit(1)\`), { eval: true })
         let ended = false
         worker.on('exit', () => (ended = true))
         worker.on('error', (error) => console.log(error))
         await new Promise((resolve) => worker.once('message', resolve))
         await new Promise((resolve) => setTimeout(resolve, 500))
         console.log(ended)
         process.exit(6)`,
        { env: { TENON_EXIT_WAIT: '200' } },
      )
      expect([code, stdout]).toEqual([6, 'false\n'])
      expect(stderr).toContain('tenon: ended without waiting for write_always')
    })

    test(
      `${EXITS} exits do not crash while a thread writes to the results`,
      async () => {
        const ends = new Map<string, number>()
        const one = async (): Promise<void> => {
          const { code, signal } = await script(
            `slow.runAsync([], [y])
             await hasBegun()
             globalThis.garbage = Array.from({ length: 50 }, () => tensor('f32', [1024]))
             gc()
             process.exit(3)`,
            { env: { TENON_EXIT_WAIT: '20' }, timeout: 20_000 },
          )
          const end = `${code} ${signal}`
          ends.set(end, (ends.get(end) ?? 0) + 1)
        }
        for (let i = 0; i < EXITS; i += 4) await Promise.all([one(), one(), one(), one()])
        expect([...ends]).toEqual([['3 null', Math.ceil(EXITS / 4) * 4]])
      },
      30_000 + EXITS * 1500,
    )
  })
