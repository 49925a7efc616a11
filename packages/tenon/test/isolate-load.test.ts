import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LoadError, tensor } from '@tenon/core'
import { KernelCrashError, KernelDeadlineError } from '@tenon/isolate'
import { kernelLibrary } from '@tenon/kernels'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Library } from '../src/index.ts'
import { errorOf, fixturePath } from './isolated.ts'
import { compileLibrary } from './signature-library.ts'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-load-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

/** Compiles a library that runs a statement while it is loaded. */
const compile = (name: string, statement: string): string =>
  compileLibrary(
    directory,
    `#include <stdlib.h>\n#include <unistd.h>\nTN_XLA_EXPORT void twice(void *out, const void **in) { (void)out, (void)in; }\n__attribute__((constructor)) static void start(void) { ${statement}; }`,
    `lib${name}.so`,
  )

// Workers need Linux.
if (process.platform === 'linux')
  describe('load() of an isolated library', { timeout: 60_000 }, () => {
    test('loads it in all workers, and is not counted as a call', async () => {
      await using library = await Library.isolate(kernelLibrary('kernels'), { workers: 3, recycle: 1 })
      const processes = (): number[] => library.health().workers.map(({ process }) => process)
      const before = processes()
      await library.load()
      await library.load({ deadline: 5000 })
      expect(processes()).toEqual(before)
      expect(library.metrics()).toMatchObject({ calls: 0, restarts: 0, runTime: { count: 0 } })
      expect(
        library
          .kernel('softmax')(tensor([[0, 0]]))
          .toArray(),
      ).toEqual([0.5, 0.5])
    })

    test('rejects for a library that cannot be loaded', async () => {
      await using library = await Library.isolate(fixturePath('core_fixture_unresolved'), { workers: 2 })
      for (let attempt = 0; attempt < 2; attempt++) {
        const error = await errorOf(() => library.load())
        expect(error).toBeInstanceOf(LoadError)
        expect(error.message).toContain('fixture_nobody_has_this')
      }
      expect(library.metrics().restarts).toBe(0)
    })

    test.each([
      ['abort', 'abort()', { signal: 'SIGABRT' }],
      ['null', '*(volatile int *)8 = 1', { signal: 'SIGSEGV' }],
      ['exit', '_exit(7)', { exitCode: 7 }],
    ])('rejects for a library that ends its worker while it is loaded: %s', async (name, statement, details) => {
      await using library = await Library.isolate(compile(name, statement), { workers: 2 })
      const error = await errorOf(() => library.load())
      expect(error).toBeInstanceOf(KernelCrashError)
      expect(error).toMatchObject({ details, message: expect.stringContaining(`loading lib${name}.so`) as string })
      // The other worker was left alone, and the first one was replaced.
      expect(library.metrics().restarts).toBe(1)
    })

    test.each([
      ['abort', 'abort()', 'crashed: SIGABRT'],
      ['null', '*(volatile int *)8 = 1', 'crashed: SIGSEGV'],
      ['exit', '_exit(7)', 'ended its process with exit code 7'],
    ])('a call names the load if its library ends the worker meanwhile: %s', async (name, statement, end) => {
      const path = compile(`first_${name}`, statement)
      await using library = await Library.isolate(path)
      const twice = library.kernel('twice', { signature: '(x: f32[n]) -> (y: f32[n])', convention: 'host' })
      for (const call of [() => twice(tensor([1])), () => twice.async(tensor([1]))]) {
        const error = await errorOf(call)
        expect(error).toBeInstanceOf(KernelCrashError)
        expect(error.message).toContain(`loading libfirst_${name}.so for twice ${end}`)
        expect(error).toMatchObject({ hint: expect.stringContaining('Find the constructor of the library') as string })
      }
    })

    test('a call names the load if its library does not end to load within the deadline', async () => {
      await using library = await Library.isolate(compile('first_hang', 'for (;;) pause()'))
      const twice = library.kernel('twice', { signature: '(x: f32[n]) -> (y: f32[n])', convention: 'host' })
      const error = await errorOf(() => twice.async(tensor([1]), { deadline: 200 }))
      expect(error.message).toContain('loading libfirst_hang.so for twice did not finish within 200 ms')
    })

    test('rejects for a library that does not end to load, after its deadline', async () => {
      await using library = await Library.isolate(compile('hang', 'for (;;) pause()'))
      const error = await errorOf(() => library.load({ deadline: 200 }))
      expect(error).toBeInstanceOf(KernelDeadlineError)
      expect(error).toMatchObject({ details: { deadline: 200, kernel: 'loading libhang.so' } })
    })

    test('waits for the calls that its workers have', async () => {
      await using library = await Library.isolate(fixturePath('faulty'))
      const sleep = library.kernel('faulty', { signature: '(x: f32[n]) -> (y: f32[n]); fault: i32' })
      const [y] = await Promise.all([sleep.async(tensor([1]), { fault: 29 }), library.load()])
      expect(y.toArray()).toEqual([2])
    })

    test('refuses deadlines that are not valid, and works in no closed library', async () => {
      const library = await Library.isolate(kernelLibrary('kernels'))
      expect((await errorOf(() => library.load({ deadline: -1 }))).name).toBe('ArgumentRangeError')
      expect((await errorOf(() => library.load({ dedline: 1 } as never))).name).toBe('ArgumentError')
      await library.closeAsync()
      expect((await errorOf(() => library.load())).name).toBe('ScopeClosedError')
    })
  })
