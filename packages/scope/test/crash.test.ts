import { packageFlags } from '@tenon/config/package-flags'
import { runScript, type ScriptResult } from '@tenon/core/testing'
import { describe, expect, test } from 'vitest'
import { packageDirectory } from './support/worker.ts'

/** Checks that the process dies with koffi alone, by a signal or a fatal error. */
function withKoffi(code: string): Promise<ScriptResult> {
  return runScript(
    `import koffi from 'koffi'
     const libc = koffi.load('libc.so.6')
     ${code}
     console.log('survived')`,
    { cwd: packageDirectory, nodeOptions: ['--expose-gc'] },
  )
}

/** Runs the same misuse through this package, which prints the code of an error. */
async function withScope(code: string): Promise<string> {
  const {
    code: exit,
    signal,
    stdout,
    stderr,
  } = await runScript(
    `import { MemorySegment, MemoryLayout, NativeScope, ResourceScope, toCString } from '@tenon/scope'
     import { Linker, SymbolLookup, upcallStub } from '@tenon/scope/linker'
     const libc = SymbolLookup.ofProcess()
     const report = (use) => { try { console.log('gave', use()) } catch (error) { console.log(error.code ?? error.name) } }
     ${code}`,
    {
      cwd: packageDirectory,
      nodeOptions: [...packageFlags, '--expose-gc', '--disable-warning=ExperimentalWarning'],
    },
  )
  expect([exit, signal], stderr).toEqual([0, null])
  return stdout.trim().split('\n').join(' ')
}

const died = ({ code, signal, stdout }: ScriptResult): boolean =>
  (signal !== null || (code !== 0 && code !== 1)) && !stdout.includes('survived')

interface Crash {
  /** The script with koffi alone. */
  readonly koffi: string
  readonly scope: string
  /** The output of the script with this package. */
  readonly expected: string
}

const crashes: Readonly<Record<string, Crash>> = {
  'a view of the null pointer': {
    koffi: `koffi.view(null, 8)`,
    scope: `report(() => MemorySegment.NULL.reinterpret(8))`,
    expected: 'TENON_ARGUMENT',
  },
  'a view larger than an address space': {
    koffi: `koffi.view(koffi.address(new ArrayBuffer(8)), 2 ** 53)`,
    scope: `report(() => MemorySegment.ofAddress(4096n).reinterpret(2 ** 53)); report(() => MemorySegment.ofAddress(4096n).reinterpret(2 ** 53 - 1))`,
    expected: 'TENON_ARGUMENT TENON_ARGUMENT',
  },
  'a function called after its library was unloaded': {
    koffi: `const libm = koffi.load('libbz2.so.1.0'), f = libm.func('BZ2_bzlibVersion', 'str', []); f(); libm.unload(); f()`,
    scope: `const scope = ResourceScope.ofConfined()
      const f = Linker.downcall(SymbolLookup.ofLibrary('libbz2.so.1.0', scope).get('BZ2_bzlibVersion'), { result: 'pointer' })
      f(); scope.close(); report(() => f())`,
    expected: 'TENON_SCOPE_CLOSED',
  },
  'reading a bad address': {
    koffi: `koffi.decode.int(16n)`,
    scope: `report(() => MemorySegment.ofAddress(16n).getInt32(0))`,
    expected: 'TENON_BOUNDS',
  },
  'freeing twice': {
    koffi: `const free = libc.func('free', 'void', ['void *']), p = libc.func('malloc', 'void *', ['size_t'])(64); free(p); free(p)`,
    scope: `const scope = ResourceScope.ofConfined()
      const free = Linker.downcall(libc.get('free'), { parameters: ['pointer'] })
      const malloc = Linker.downcall(libc.get('malloc'), { result: 'pointer', parameters: ['uint64'] })
      malloc(64).reinterpret(64, scope, (memory) => free(memory))
      scope.close(); report(() => scope.close()); report(() => scope[Symbol.dispose]())`,
    expected: 'TENON_SCOPE_CLOSED gave undefined',
  },
  'freeing memory that a call still uses': {
    koffi: `const malloc = libc.func('malloc', 'void *', ['size_t']), free = libc.func('free', 'void', ['void *'])
      const size = 64 * 1024 * 1024, p = malloc(size)
      const callback = koffi.register(() => { free(p); return 0 }, koffi.pointer(koffi.proto('int', ['void *', 'void *'])))
      libc.func('qsort', 'void', ['void *', 'size_t', 'size_t', 'void *'])(p, size / 8, 8, callback)
      free(p)`,
    scope: `const scope = NativeScope.ofConfined()
      const memory = scope.allocate(64 * 1024)
      let code
      const compare = upcallStub(() => { try { scope.close() } catch (error) { code = error.code } return 0 }, { result: 'int32', parameters: ['pointer', 'pointer'] }, ResourceScope.ofConfined())
      Linker.downcall(libc.get('qsort'), { parameters: ['pointer', 'uint64', 'uint64', 'pointer'] })(memory, 4, 8, compare)
      console.log(code); scope.close()`,
    expected: 'TENON_SCOPE_HELD',
  },
  'a buffer that is collected under an asynchronous call': {
    koffi: `const memset = libc.func('memset', 'void *', ['void *', 'int', 'size_t']), usleep = libc.func('usleep', 'int', ['uint'])
      const pending = []
      // These calls keep all threads busy, so that later calls start after the buffers are collected.
      for (let i = 0; i < 64; i++) usleep.async(200_000, () => {})
      for (let i = 0; i < 40; i++) pending.push(new Promise((resolve) => memset.async(Buffer.allocUnsafeSlow(16 * 1024 * 1024), 1, 16 * 1024 * 1024, resolve)))
      for (let i = 0; i < 20; i++) { gc(); await new Promise((resolve) => setTimeout(resolve, 5)) }
      await Promise.all(pending)`,
    scope: `const memset = Linker.downcall(libc.get('memset'), { result: 'pointer', parameters: ['pointer', 'int32', 'uint64'] })
      const usleep = Linker.downcall(libc.get('usleep'), { result: 'int32', parameters: ['uint32'] })
      const pending = []
      for (let i = 0; i < 64; i++) pending.push(usleep.async(20_000))
      for (let i = 0; i < 40; i++) pending.push(memset.async(MemorySegment.allocateNative(16 * 1024 * 1024), 1, 16 * 1024 * 1024))
      for (let i = 0; i < 20; i++) { gc(); await new Promise((resolve) => setTimeout(resolve, 5)) }
      await Promise.all(pending); console.log('done')`,
    expected: 'done',
  },
  'a view after its mapping is gone': {
    koffi: `const mmap = libc.func('mmap', 'void *', ['size_t', 'size_t', 'int', 'int', 'int', 'size_t'])
      const p = mmap(0, 4096, 3, 0x22, -1, 0), view = new DataView(koffi.view(p, 4096))
      libc.func('munmap', 'int', ['void *', 'size_t'])(p, 4096); view.getInt32(0)`,
    scope: `const scope = ResourceScope.ofConfined()
      const segment = MemorySegment.mapFile('package.json', scope), view = MemorySegment.mapFile('package.json', scope, { access: 'copy' }).view()
      scope.close(); report(() => segment.getUint8(0)); report(() => view.getUint8(0))`,
    expected: 'TENON_SCOPE_CLOSED TypeError',
  },
  'a callback called from another isolate': {
    koffi: `const { Worker } = await import('node:worker_threads')
      const callback = koffi.register((x) => x, koffi.pointer(koffi.proto('int', ['int'])))
      const worker = new Worker("import koffi from 'koffi'; import { workerData } from 'node:worker_threads'; koffi.decode(workerData, koffi.proto('int', ['int']))(1)", { eval: true, workerData: callback })
      await new Promise((resolve) => worker.once('exit', resolve))`,
    scope: `const stub = upcallStub((x) => x, { result: 'int32', parameters: ['int32'] }, ResourceScope.ofConfined())
      report(() => structuredClone(stub))`,
    expected: '25',
  },
}

if (process.platform === 'linux')
  describe('misuse that crashes a process with koffi alone throws an error', () => {
    for (const [name, { koffi, scope, expected }] of Object.entries(crashes)) {
      test(name, { timeout: 120_000 }, async () => {
        let alone = await withKoffi(koffi)
        // Whether memory that is used after its end crashes is not certain.
        for (let tries = 1; tries < 3 && !died(alone); tries++) alone = await withKoffi(koffi)
        expect(died(alone), JSON.stringify(alone)).toBe(true)
        expect(await withScope(scope)).toBe(expected)
      })
    }

    test('a detached buffer is not passed as a null pointer', async () => {
      const { stdout } = await withKoffi(
        `const bytes = new Uint8Array(8); bytes.buffer.transfer()
       console.log(libc.func('memchr', 'void *', ['void *', 'int', 'size_t'])(bytes, 0, 0))
       console.log('null is', koffi.address(bytes))`,
      )
      expect(stdout).toMatch(/null is (0|null)/)
      expect(
        await withScope(
          `const bytes = new Uint8Array(8), segment = MemorySegment.ofBuffer(bytes); bytes.buffer.transfer()
         report(() => Linker.downcall(libc.get('memchr'), { result: 'pointer', parameters: ['pointer', 'int32', 'uint64'] })(segment, 0, 0))`,
        ),
      ).toBe('TENON_SCOPE_CLOSED')
    })
  })
