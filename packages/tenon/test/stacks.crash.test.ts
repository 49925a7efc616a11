import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packageFlags } from '@tenon/config/package-flags'
import { runScript } from '@tenon/core/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { compileLibrary } from './signature-library.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-stacks-'))
const cwd = dirname(dirname(fileURLToPath(import.meta.url)))
afterAll(() => rmSync(directory, { recursive: true }))

/** The lines that a program prints. It has `path`, and a thread that began before it loads a library answers `inWorker(text)`. */
async function linesOf(path: string, program: string, env: Readonly<Record<string, string>> = {}): Promise<string[]> {
  const prelude = `
    import { asScript } from '@tenon/config/as-script'
    import { once } from 'node:events'
    import { Worker } from 'node:worker_threads'
    import { Library, tensor } from 'tenon'
    import { Module } from 'tenon/packed-func'
    import { NativeLibrary } from 'tenon/core'
    import { NativeScope, ResourceScope } from 'tenon/scope'
    import { Linker, SymbolLookup, upcallStub } from 'tenon/scope/linker'
    const path = ${JSON.stringify(path)}, int = { result: 'int32', parameters: ['int32'] }
    const print = async (use) => { try { console.log(String(await use())) } catch (error) { console.log(error.name + ': ' + error.message.split('\\n')[0]) } }
    const worker = new Worker(asScript(\`
      import { parentPort } from 'node:worker_threads'
      import { NativeLibrary } from 'tenon/core'
      const abs = NativeLibrary.ofProcess().function('abs', { result: 'int32', parameters: ['int32'] })
      parentPort.on('message', ({ path, name }) => {
        let answer = ''
        try { answer = NativeLibrary.open(path).function(name, { result: 'int32', parameters: ['int32'] })(5) } catch (error) { answer = error.name }
        parentPort.postMessage(answer + ' ' + abs(-3))
      })
      parentPort.postMessage(abs(-3))\`), { eval: true })
    await once(worker, 'message')
    const inWorker = async (name) => { worker.postMessage({ path, name }); return (await once(worker, 'message'))[0] }
  `
  const options = { cwd, env, nodeOptions: [...packageFlags, '--no-warnings'], timeout: 40_000 }
  const { code, signal, stdout, stderr } = await runScript(`${prelude}\n${program}\nawait worker.terminate()`, options)
  expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' })
  return stdout.trim().split('\n')
}

if (process.platform === 'linux')
  describe('a library that needs an executable stack', () => {
    let path: string
    beforeAll(() => {
      const code = process.arch === 'x64' ? '{0x00002ab8, 0x0000c300}' : '{0x52800540, 0xd65f03c0}'
      const source = `
        #include <stdint.h>
        #include <tenon/kernel.h>
        __attribute__((visibility("default"), noinline)) int plain(int x) {
          volatile uint32_t code[] = ${code}; // return 42;
          __builtin___clear_cache((char *)code, (char *)(code + 2));
          return ((int (*)(void))code)() + x;
        }
        TN_KERNEL(add, "(x: s32[n]) -> (y: s32[n])") {
          const tn_xla_buffer_t *x = tn_xla_arg(in, 0, TN_XLA_S32, 1), *y = tn_xla_ret_like(in, 0, x);
          if (!tn_xla_complete(in)) return;
          *(int *)y->data = plain(*(const int *)x->data);
        }`
      path = compileLibrary(directory, source, 'libexec.so', 'c', '-Wl,-z,execstack')
    })

    test('runs on every thread, or is refused with a hint where the loader refuses it', async () => {
      const program = `
        const x = tensor('int32', [[5]]).reshape([1])
        let library
        try { library = Library.open(path) } catch (error) { console.log(error.code, error.hint) }
        if (library !== undefined) {
          await print(() => library.native.function('plain', int)(5))
          await print(() => library.native.function('plain', int).async(5))
          await print(() => library.kernel('add')(x).toArray())
          await print(() => library.kernel('add').async(x).then((y) => y.toArray()))
          await print(() => inWorker('plain'))
          const isolated = await Library.isolate(path)
          await print(() => isolated.kernel('add')(x).toArray())
          await isolated.closeAsync()
        }`
      const lines = await linesOf(path, program)
      const refused = [expect.stringMatching(/^TENON_LOAD .*-z noexecstack/)]
      expect(lines).toEqual(lines.length === 1 ? refused : ['47', '47', '47', '47', '47 3', '47'])
    })
  })

if (process.platform === 'linux')
  test('constructors may need an executable stack, and see the stack of their thread', async () => {
    const code = process.arch === 'x64' ? '{0x00002ab8, 0x0000c300}' : '{0x52800540, 0xd65f03c0}'
    const needed = `
      #define _GNU_SOURCE
      #include <pthread.h>
      #include <stdint.h>
      __attribute__((visibility("hidden"))) int found;
      __attribute__((constructor)) static void begin(void) {
        volatile uint32_t code[] = ${code}; // return 42;
        __builtin___clear_cache((char *)code, (char *)(code + 2));
        pthread_attr_t attributes;
        void *start;
        size_t size;
        pthread_getattr_np(pthread_self(), &attributes);
        pthread_attr_getstack(&attributes, &start, &size);
        pthread_attr_destroy(&attributes);
        const char *here = __builtin_frame_address(0);
        found = ((int (*)(void))code)() + (here > (char *)start && here < (char *)start + size);
      }
      __attribute__((visibility("default"))) int at_begin(int x) { return found + x; }`
    const packed = `
      #include <tenon/tvm_ffi.h>
      ${needed}
      TVM_FFI_EXPORT int __tvm_ffi_found(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
        result->type_index = kTVMFFIInt;
        result->v_int64 = found;
        return 0;
      }`
    const module = compileLibrary(directory, packed, 'libpackedbegin.so', 'c', '-Wl,-z,execstack')
    const dependent =
      'int at_begin(int); __attribute__((visibility("default"))) int call(int x) { return at_begin(x); }'
    const names = ['main', 'worker', 'nested', 'dependency']
    const paths = names.map((name) => compileLibrary(directory, needed, `lib${name}.so`, 'c', '-Wl,-z,execstack'))
    const flags = [paths[3]!, `-Wl,-rpath,${directory}`]
    const path = compileLibrary(directory, dependent, 'libdependent.so', 'c', ...flags)
    const program = `
      const [main, worker_, nested] = ${JSON.stringify(paths)}
      const at = (path, name = 'at_begin') => NativeLibrary.open(path).function(name, int)(5)
      // A call that is in progress runs on a stack of its own, which was made before any library asked for execution.
      const scope = NativeScope.ofConfined(), order = { result: 'int32', parameters: ['pointer', 'pointer'] }
      const qsort = NativeLibrary.ofProcess().function('qsort', { result: 'void', parameters: ['pointer', 'uint64', 'uint64', 'pointer'] })
      let inside
      const compare = upcallStub(() => { inside ??= (() => { try { return at(nested) } catch (error) { return error } })(); return 0 }, order, scope)
      await print(() => { qsort(scope.allocate(8), 2, 4, compare); if (typeof inside === 'object') throw inside; return inside })
      await print(() => Module.open(${JSON.stringify(module)}).get('found')() + 5)
      await print(() => at(main))
      await print(() => at(path, 'call'))
      await print(() => { worker.postMessage({ path: worker_, name: 'at_begin' }); return once(worker, 'message') })`
    const lines = await linesOf(path, program)
    const isRefused = lines[0]!.startsWith('LoadError')
    expect(lines).toEqual(
      isRefused ? lines.map(() => expect.stringContaining('LoadError')) : ['48', '48', '48', '48', '48 3'],
    )
  })

describe('a library that scans the stack of its thread', () => {
  const source = (name: string): string => `
    #define _GNU_SOURCE
    #include <pthread.h>
    #include <stdint.h>
    #define PUBLIC __attribute__((visibility("default"), noinline))
    // As conservative collectors do: all words from the stack pointer to the end of the thread's stack.
    PUBLIC int ${name}(int x) {
      pthread_attr_t attributes;
      void *start;
      size_t size;
      pthread_getattr_np(pthread_self(), &attributes);
      pthread_attr_getstack(&attributes, &start, &size);
      pthread_attr_destroy(&attributes);
      volatile uint64_t secret = 0x5ca9ab1e00000000u + (unsigned)x;
      const uint64_t *at = (const uint64_t *)((uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)7) - 64;
      int found = 0;
      for (; at < (const uint64_t *)((char *)start + size); at++) found += *at == secret;
      return found > 0;
    }
    PUBLIC int call(int (*f)(int), int x) { return f(x) + ${name}(x); }
    PUBLIC int plain(int x) { return x; }`
  const program = (name: string): string => `
    const scope = ResourceScope.ofConfined(), symbols = SymbolLookup.ofLibrary(path, scope)
    const scan = Linker.downcall(symbols.get('${name}'), int), call = Linker.downcall(symbols.get('call'), { result: 'int32', parameters: ['pointer', 'int32'] })
    await print(() => scan(5))
    await print(() => scan.async(5))
    await print(() => inWorker('${name}'))
    const inner = upcallStub((x) => scan(x), int, scope), outer = upcallStub((x) => call(inner, x), int, scope)
    await print(() => call(inner, 5))
    await print(() => call(outer, 5))
    await print(() => call(upcallStub(() => { throw new RangeError('from a callback') }, int, scope), 5))
    let depth = 0
    const deep = upcallStub((x) => { depth++; return call(deep, x) }, int, scope)
    await print(() => call(deep, 5))
    console.log(depth > 10, scan(5))`
  const expected = ['1', '1', '1 3', '2', '3', 'RangeError: from a callback']

  test('can be called on every thread, if it exports the functions of the Boehm collector', async () => {
    const path = compileLibrary(directory, source('GC_gcollect'), 'libgcstack.so')
    const lines = await linesOf(path, program('GC_gcollect'))
    expect(lines).toEqual([...expected, expect.stringMatching(/^RangeError/), 'true 1'])
  })

  test('can be called with TENON_STACK=thread, if nothing shows that it scans', async () => {
    const path = compileLibrary(directory, source('scan'), 'libscan.so')
    const lines = await linesOf(path, program('scan'), { TENON_STACK: 'thread' })
    expect(lines).toEqual([...expected, expect.stringMatching(/^RangeError/), 'true 1'])
  })
})

if (process.platform === 'linux')
  test('synchronous calls that end their thread are errors, and the thread goes on', async () => {
    const source = `
      #include <pthread.h>
      #include <tenon/kernel.h>
      #include <tenon/tvm_ffi.h>
      #define PUBLIC __attribute__((visibility("default")))
      PUBLIC int end(int x) { if (x == 5) pthread_exit(0); return x; }
      PUBLIC int cancel(int x) { pthread_cancel(pthread_self()); pthread_testcancel(); return x; }
      PUBLIC int call(int (*f)(int), int x) { return f(x); }
      TN_KERNEL(typed, "(x: f32[n]) -> (y: f32[n])") {
        const tn_xla_buffer_t *x = tn_xla_arg(in, 0, TN_XLA_F32, 1), *y = tn_xla_ret_like(in, 0, x);
        if (!tn_xla_complete(in)) return;
        if (*(const float *)x->data == 0) pthread_exit(0);
        *(float *)y->data = 3;
      }
      TN_SIGNATURE(host, "(x: f32[n]) -> (y: f32[n])"); TN_XLA_MARK_HOST(host);
      TN_XLA_EXPORT void host(void *out, const void **in) { if (*(const float *)in[0] == 0) pthread_exit(0); *(float *)out = 2; }
      TVM_FFI_EXPORT int __tvm_ffi_packed(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) { if (count == 0) pthread_exit(0); result->type_index = kTVMFFIInt; result->v_int64 = count; return 0; }`
    const path = compileLibrary(directory, source, 'libend.so')
    const lines = await linesOf(
      path,
      `const library = Library.open(path), end = library.native.function('end', int)
      const scope = ResourceScope.ofConfined(), symbols = SymbolLookup.ofLibrary(path, scope)
      const call = Linker.downcall(symbols.get('call'), { result: 'int32', parameters: ['pointer', 'int32'] })
      const zero = tensor([[0]]).reshape([1]), one = tensor([[1]]).reshape([1])
      await print(() => library.native.function('cancel', int)(1))
      for (let i = 0; i < 1000; i++) try { end(5); console.log('returned') } catch {}
      await print(() => end(5))
      await print(() => end(4))
      await print(() => call(upcallStub((x) => end(x), int, scope), 5))
      await print(() => call(symbols.get('end'), 5))
      for (let i = 0; i < 3; i++) {
        await print(() => library.kernel('typed')(zero))
        await print(() => library.kernel('typed')(one).toArray())
        await print(() => library.kernel('host')(zero))
        await print(() => library.kernel('host')(one).toArray())
        await print(() => library.packed('packed')())
        await print(() => library.packed('packed')(1))
      }
      await print(() => inWorker('end'))
      await print(() => end.async(5))
      scope.close(); library.close()`,
    )
    const ended = 'pthread_exit() or pthread_cancel() must not end a thread of JavaScript'
    const failed = expect.stringContaining(ended)
    const ofKernels = [failed, '3', failed, '2', failed, '1']
    expect(lines).toEqual([
      `NativeError: cancel did not return: ${ended}`,
      `NativeError: end did not return: ${ended}`,
      '4',
      failed,
      failed,
      ...ofKernels,
      ...ofKernels,
      ...ofKernels,
      'NativeError 3',
      expect.stringContaining('pthread_exit() ended the thread of the call'),
    ])
  })
