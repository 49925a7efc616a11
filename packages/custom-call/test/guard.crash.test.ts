import { packageFlags } from '@tenon/config/package-flags'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { runScript, type ScriptOptions, type ScriptResult } from '@tenon/core/testing'

const packageDirectory = fileURLToPath(new URL('..', import.meta.url))

function guarded(code: string, options: ScriptOptions = {}): Promise<ScriptResult> {
  return runScript(
    `import { dirname, join } from 'node:path'
     import { gcAllocator, NativeLibrary, tensor } from '@tenon/core'
     import { coreLibrary } from '@tenon/core/internal'
     import { ApiVersion, batch, customCall, f32, hostFunction, s64, typedHandler, u8 } from '@tenon/custom-call'
     const library = NativeLibrary.open(join(dirname(coreLibrary().path), 'liboverrun.so'))
     const attrs = (offset, count, operand = -1) => ({ offset: s64(offset), count: s64(count), operand: s64(operand) })
     const overrun = customCall(library, 'overrun')
     const prepare = (...values) => typedHandler(library, 'overrun').prepare({ operands: [f32([6])], results: [f32([6])], attrs: attrs(...values) })
     const [x, y] = [tensor('f32', [6]), tensor('f32', [6])]
     const report = (run) => {
       try { run(); console.log('nothing') } catch (error) { console.log(error.code, error.sentence) }
     }
     ${code}`,
    {
      cwd: packageDirectory,
      nodeOptions: [...packageFlags, '--disable-warning=ExperimentalWarning', '--expose-gc'],
      ...options,
      env: { TENON_DEBUG: 'guard', ...options.env },
    },
  )
}

async function linesOf(code: string, options?: ScriptOptions): Promise<string[]> {
  const { code: exitCode, stdout, stderr } = await guarded(code, options)
  expect([exitCode, stderr]).toEqual([0, ''])
  return stdout.trim().split('\n')
}

if (process.platform === 'linux')
  describe('guard mode', () => {
    test('a call reports 1 byte behind a result that it allocates, and behind a tensor', async () => {
      expect(
        await linesOf(
          `report(() => overrun([x], { results: [f32([6])], attrs: attrs(24, 1) }))
           report(() => overrun([x], { results: [y], attrs: attrs(24, 1) }))
           report(() => overrun([x], { results: [f32([5])], attrs: attrs(20, 1) }))
           report(() => overrun([x], { results: [f32([6])], attrs: attrs(0, 24) }))`,
        ),
      ).toEqual([
        'TENON_GUARD overrun wrote 1 byte behind result 0, at offset 24',
        'TENON_GUARD overrun wrote 1 byte behind result 0, at offset 24',
        'TENON_GUARD overrun wrote 1 byte behind result 0, at offset 20',
        'nothing',
      ])
    })

    test('a call reports bytes behind the first ones, before the tensor, and of operands', async () => {
      expect(
        await linesOf(
          `report(() => overrun([x], { results: [y], attrs: attrs(26, 4) }))
           report(() => overrun([x], { results: [y], attrs: attrs(63, 1) }))
           report(() => overrun([x], { results: [y], attrs: attrs(-8, 8) }))
           report(() => overrun([x], { results: [y], attrs: attrs(24, 40, 0) }))
           report(() => overrun([x], { results: [y], attrs: attrs(0, 24, 0) }))`,
        ),
      ).toEqual([
        'TENON_GUARD overrun wrote 4 bytes behind result 0, at offset 26',
        'TENON_GUARD overrun wrote 1 byte behind result 0, at offset 63',
        'TENON_GUARD overrun wrote 8 bytes before result 0, at offset -8',
        'TENON_GUARD overrun wrote 40 bytes behind operand 0, at offset 24',
        'nothing',
      ])
    })

    test('a call reports bytes behind the copy of an operand in its layout', async () => {
      expect(
        await linesOf(
          `const matrix = tensor('f32', [2, 3])
           const types = { operands: [f32([2, 3])], results: [f32([6])], layouts: { operands: ['cm'] } }
           const call = typedHandler(library, 'overrun').prepare({ ...types, attrs: attrs(24, 4, 0) })
           report(() => call.run([matrix], [y]))
           report(() => call.run([matrix.toLayout('cm')], [y]))
           await call.runAsync([matrix], [y]).catch((error) => console.log(error.code, error.sentence))
           const bound = call.bind([matrix], [y])
           report(() => bound.run())`,
        ),
      ).toEqual(Array(4).fill('TENON_GUARD overrun wrote 4 bytes behind operand 0, at offset 24'))
    })

    test('the error of a call that failed as well is the cause', async () => {
      expect(
        await linesOf(
          `try { overrun([x], { results: [y], attrs: attrs(25, 1) }) } catch (error) { console.log(error.code, error.cause.code, error.cause.sentence) }`,
        ),
      ).toEqual(['TENON_GUARD TENON_XLA overrun answered INTERNAL: the offset is odd'])
    })

    test('prepared, bound, untyped and asynchronous calls and batches are checked', async () => {
      expect(
        await linesOf(
          `const call = prepare(24, 4)
           const fine = prepare(0, 4)
           const [u, v] = [tensor('f32', [6]), tensor('f32', [6])]
           const bound = call.bind([x], [v])
           const untyped = hostFunction(library, 'overrun_untyped', { apiVersion: ApiVersion.STATUS_RETURNING_UNIFIED })
             .prepare({ results: [u8([3])], opaque: new Uint8Array([3, 2]) })
           report(() => call.run([x], [y]))
           report(() => bound.run())
           report(() => untyped.run([], [tensor('u8', [3])]))
           report(() => batch([{ call: fine, operands: [x], results: [y] }, { call, operands: [x], results: [y] }]).run())
           const later = [call.runAsync([x], [u]), bound.runAsync(), overrun.async([x], { results: [f32([6])], attrs: attrs(24, 3) })]
           for (const promise of [...later, () => batch([{ call, operands: [x], results: [y] }]).runAsync()])
             await (typeof promise === 'function' ? promise() : promise).catch((error) => console.log(error.code, error.sentence))
           report(() => fine.run([x], [y]))`,
        ),
      ).toEqual([
        'TENON_GUARD overrun wrote 4 bytes behind result 0, at offset 24',
        'TENON_GUARD overrun wrote 4 bytes behind result 0, at offset 24',
        'TENON_GUARD overrun_untyped wrote 2 bytes behind result 0, at offset 3',
        'TENON_GUARD overrun wrote 4 bytes behind result 0, at offset 24',
        'TENON_GUARD overrun wrote 4 bytes behind result 0, at offset 24',
        'TENON_GUARD overrun wrote 4 bytes behind result 0, at offset 24',
        'TENON_GUARD overrun wrote 3 bytes behind result 0, at offset 24',
        'TENON_GUARD overrun wrote 4 bytes behind result 0, at offset 24',
        'nothing',
      ])
    })

    test('a write behind the last page crashes with a report that names the memory', async () => {
      const { signal, stderr } = await guarded(`overrun([x], { results: [tensor('f32', [16])], attrs: attrs(64, 1) })`)
      expect(signal).toBe('SIGSEGV')
      expect(stderr).toContain('touched memory 0 bytes behind the end of a segment of 64 bytes of gcAllocator')
    })

    test('views, closed scopes and workers work as without guard mode', async () => {
      expect(
        await linesOf(
          `import { asScript } from '@tenon/config/as-script'
           import { Worker } from 'node:worker_threads'
           const z = tensor('f32', [3], [1, 2, 3])
           const view = z.view()
           view[1] = 7
           console.log(z.toArray().join(), view.buffer.byteLength, Number(z.segment.address) % 64)
           const moved = view.buffer.transfer()
           try { z.toArray() } catch (error) { console.log(error.code) }
           for (let i = 0; i < 3; i++) { gc(); await new Promise((resolve) => setImmediate(resolve)) }
           console.log(new Float32Array(moved).join())
           const worker = new Worker(asScript(\`import { tensor } from '@tenon/core'
             globalThis.kept = Array.from({ length: 100 }, () => tensor('f32', [6]))\`), { eval: true })
           await new Promise((resolve, reject) => worker.on('exit', resolve).on('error', reject))
           console.log('over')`,
        ),
      ).toEqual(['1,7,3 12 0', 'TENON_SCOPE_CLOSED', '1,7,3', 'over'])
    })

    test('the garbage collector frees guarded memory, whose quarantine is bounded', async () => {
      expect(
        await linesOf(
          `import { asScript } from '@tenon/config/as-script'
           import { coreFunctions } from '@tenon/core/internal'
           import { readdirSync, readFileSync } from 'node:fs'
           import { Worker } from 'node:worker_threads'
           const mappings = () => readFileSync('/proc/self/maps', 'utf8').split('\\n').length
           const collect = async () => { for (let i = 0; i < 20; i++) { gc(); await new Promise((resolve) => setImmediate(resolve)) } }
           const work = async () => {
             for (let i = 0; i < 3000; i++) overrun([x], { results: [f32([6])], attrs: attrs(0, 24) })
             await collect()
           }
           const workers = async () => {
             const worker = new Worker(asScript(\`import { tensor } from '@tenon/core'
               globalThis.kept = Array.from({ length: 500 }, () => tensor('f32', [6]))\`), { eval: true })
             await new Promise((resolve, reject) => worker.on('exit', resolve).on('error', reject))
             await collect()
           }
           await work(); await workers()
           const count = () => Number(coreFunctions().tn_guarded_count())
           const before = [count(), mappings(), readdirSync('/proc/self/fd').length, process.memoryUsage().arrayBuffers]
           await work(); await workers(); await work()
           const after = [count(), mappings(), readdirSync('/proc/self/fd').length, process.memoryUsage().arrayBuffers]
           console.log(before[0] < 1100, after[0] - before[0], Math.abs(after[1] - before[1]) < 60, after[2] - before[2], Math.abs(after[3] - before[3]) < 100_000)`,
          { timeout: 60_000 },
        ),
      ).toEqual(['true 0 true 0 true'])
    }, 60_000)

    test('memory is unguarded after one warning when no mappings are left', async () => {
      const { code, stdout, stderr } = await guarded(
        `const all = Array.from({ length: 30_000 }, () => tensor('f32', [6]))
         report(() => overrun([x], { results: [y], attrs: attrs(24, 1) }))
         report(() => overrun([x], { results: [all.at(-1)], attrs: attrs(0, 24) }))`,
        { timeout: 60_000 },
      )
      expect([code, stdout]).toEqual([0, 'TENON_GUARD overrun wrote 1 byte behind result 0, at offset 24\nnothing\n'])
      expect(stderr.match(/memory is unguarded/g)).toHaveLength(1)
    }, 60_000)

    test('damage that no call reports is printed when the memory is collected', async () => {
      const { code, stderr } = await guarded(
        `import { MemorySegment } from '@tenon/scope'
         import { Linker, SymbolLookup } from '@tenon/scope/linker'
         const memset = Linker.downcall(SymbolLookup.ofProcess().get('memset'), { parameters: ['pointer', 'int32', 'uint64'] })
         ;(() => memset(MemorySegment.ofAddress(tensor('f32', [6]).segment.address), 1, 26n))()
         for (let i = 0; i < 10; i++) { gc(); await new Promise((resolve) => setImmediate(resolve)) }`,
      )
      expect(code, stderr).toBe(0)
      expect(stderr).toContain(
        'native code wrote 0 bytes before and 2 bytes behind a segment of 24 bytes of gcAllocator',
      )
    })

    test('calls are not checked without guard mode', async () => {
      expect(
        await linesOf(
          `report(() => overrun([x], { results: [tensor('f32', [6], gcAllocator.allocate(64, 64))], attrs: attrs(24, 4) }))`,
          {
            env: { TENON_DEBUG: '' },
          },
        ),
      ).toEqual(['nothing'])
    })
  })
