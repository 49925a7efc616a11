import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NativeLibrary, tensor, type Tensor } from '@tenon/core'
import { Module, type PackedFunc } from '@tenon/packed-func'
import { ResourceScope } from '@tenon/scope'
import { Linker, SymbolLookup, upcallStub } from '@tenon/scope/linker'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Library, type IsolatedLibrary } from '../src/index.ts'
import { compileLibrary } from './signature-library.ts'

/** Each part leaves the rounding, the precision of `long double` and the direction of copies changed, and `seen()` says what it finds. */
const SOURCE = `
  #include <tenon/kernel.h>
  #include <tenon/tvm_ffi.h>
  #define PUBLIC __attribute__((visibility("default")))
  static void leave(void) {
    unsigned mxcsr = 0xffc0;
    unsigned short x87 = 0x0c7f;
    __asm__ volatile("ldmxcsr %0\\n\\tfldcw %1\\n\\tstd" : : "m"(mxcsr), "m"(x87));
  }
  PUBLIC int seen(void) {
    unsigned mxcsr;
    unsigned short x87;
    __asm__ volatile("stmxcsr %0\\n\\tfnstcw %1" : "=m"(mxcsr), "=m"(x87));
    const unsigned long flags = __builtin_ia32_readeflags_u64();
    return ((mxcsr & 0x6000) != 0) | ((x87 & 0xf00) != 0x300) << 1 | ((flags & 0x400) != 0) << 2;
  }
  PUBLIC int c(int x) { int y = seen(); if (x) leave(); return y; }
  PUBLIC int call(int (*f)(int), int x) { int y = f(x); leave(); return y; }
  TN_KERNEL(typed, "(x: s32[n]) -> (y: s32[n])") {
    const tn_xla_buffer_t *x = tn_xla_arg(in, 0, TN_XLA_S32, 1), *y = tn_xla_ret_like(in, 0, x);
    if (!tn_xla_complete(in)) return;
    *(int *)y->data = c(*(const int *)x->data);
  }
  TN_SIGNATURE(host, "(x: s32[n]) -> (y: s32[n])"); TN_XLA_MARK_HOST(host);
  TN_XLA_EXPORT void host(void *out, const void **in) { *(int *)out = c(*(const int *)in[0]); }
  TVM_FFI_EXPORT int __tvm_ffi_packed(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
    result->type_index = kTVMFFIInt;
    result->v_int64 = c((int)args[0].v_int64);
    return 0;
  }
  TVM_FFI_EXPORT int __tvm_ffi_failing(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
    TVMFFIErrorSetRaisedFromCStr("ValueError", "on purpose");
    leave();
    return -1;
  }
  static void end(void *self) { leave(); }
  TVM_FFI_EXPORT int __tvm_ffi_made(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
    TVMFFIObjectHandle made;
    if (TVMFFIFunctionCreate(NULL, __tvm_ffi_packed, end, &made) != 0) return -1;
    result->type_index = kTVMFFIFunction;
    result->v_obj = made;
    return 0;
  }
  #ifdef BEGIN
  __attribute__((constructor)) static void begin(void) { leave(); }
  #endif`

const int = { result: 'int32', parameters: ['int32'] } as const

/** Whether arithmetic and copies of JavaScript are right. Rounding up, the sum would be 0.30000000000000010. */
const isRight = (): boolean =>
  Number('0.1') + Number('0.2') === 0.300_000_000_000_000_04 && Buffer.from(Buffer.alloc(1e5, 3)).every((x) => x === 3)

if (process.arch === 'x64')
  describe('the state of the processor that native code leaves', () => {
    const directory = mkdtempSync(join(tmpdir(), 'tenon-state-'))
    const scope = ResourceScope.ofConfined()
    let path: string
    let library: Library
    let isolated: IsolatedLibrary

    /** Calls by their conventions, which return what they have found. Those with 1 leave other state. */
    const callsOf = ({ kernel, packed, c }: Callable): Record<string, (x: number) => unknown> => ({
      typed: (x) => kernel('typed')(tensor('int32', [1], [x])).item(),
      host: (x) => kernel('host')(tensor('int32', [1], [x])).item(),
      packed: (x) => packed('packed')(x),
      c,
    })

    interface Callable {
      kernel(name: string): (x: Tensor<'int32'>) => { item(): unknown }
      packed(name: string): (...values: unknown[]) => unknown
      c(x: number): unknown
    }

    beforeAll(async () => {
      path = compileLibrary(directory, SOURCE, 'libstate.so')
      library = Library.open(path)
      isolated = await Library.isolate(path, { workers: 1 })
    })
    afterAll(async () => {
      scope.close()
      library.close()
      await isolated.closeAsync()
      rmSync(directory, { recursive: true })
    })

    test.each(['in this process', 'in a worker'])('is not found by the next call of any convention %s', (place) => {
      const isElsewhere = place === 'in a worker'
      const used = isElsewhere ? isolated : library
      const calls = callsOf({
        kernel: (name) => used.kernel(name) as never,
        packed: (name) => used.packed(name) as never,
        c: isElsewhere ? isolated.function('c', int) : library.function('c', int),
      })
      const found = Object.values(calls).flatMap((first) =>
        Object.values(calls).map((second) => [first(1), second(0), isRight()]),
      )
      expect(found).toEqual(Array.from({ length: 16 }, () => [0, 0, true]))
    })

    test('is not found by later calls on threads', async () => {
      const c = library.function('c', int)
      const typed = library.kernel('typed')
      const x = tensor('int32', [1], [1])
      for (const call of [() => c.async(1), () => typed.async(x), () => library.packed('packed').async(1)]) {
        await Promise.all(Array.from({ length: 50 }, call))
        const later = await Promise.all(Array.from({ length: 50 }, () => c.async(0)))
        expect([...new Set(later), isRight()]).toEqual([0, true])
      }
    })

    test('is not found after an error', () => {
      for (const [used, c] of [
        [library, library.function('c', int)] as const,
        [isolated, isolated.function('c', int)] as const,
      ]) {
        for (let i = 0; i < 3; i++) {
          expect(() => used.packed('failing')()).toThrow('on purpose')
          expect([c(0), isRight()]).toEqual([0, true])
        }
      }
    })

    test('of constructors is not found, whatever opens the library', () => {
      const [module, native, found, needed] = ['module', 'native', 'found', 'needed'].map((name) =>
        compileLibrary(directory, SOURCE, `lib${name}.so`, 'c', '-DBEGIN'),
      )
      const dependent = compileLibrary(
        directory,
        'int c(int); __attribute__((visibility("default"))) int d(int x) { return c(x); }',
        'libdependent.so',
        'c',
        needed!,
        `-Wl,-rpath,${directory}`,
      )
      const opened = [
        () => Module.open(module!).get('packed')(0),
        () => NativeLibrary.open(native!).function('c', int)(0),
        () => Linker.downcall(SymbolLookup.ofLibrary(found!, scope).get('c'), int)(0),
        () => NativeLibrary.open(dependent).function('d', int)(0),
      ]
      expect(opened.map((open) => [open(), isRight()])).toEqual(opened.map(() => [0, true]))
    })

    test('of the destructor of an object is not found, also in a worker, which keeps no objects', () => {
      const made = library.packed('made')() as PackedFunc
      expect(made(1)).toBe(0)
      made.close()
      expect([library.function('c', int)(0), isRight()]).toEqual([0, true])
      expect(() => isolated.packed('made')()).toThrow('cannot leave the process')
      expect(isolated.function('c', int)(0)).toBe(0)
    })

    test('is not found in callbacks, nor after a nested call', () => {
      const symbols = SymbolLookup.ofLibrary(path, scope)
      const types = { result: 'int32', parameters: ['pointer', 'int32'] } as const
      const call = Linker.downcall(symbols.get('call'), types)
      const c = library.function('c', int)
      const inner = upcallStub((x: number) => c(x) + c(0), int, scope)
      const outer = upcallStub((x: number) => call(inner, x) + c(0) + (isRight() ? 0 : 100), int, scope)
      expect([call(outer, 1), call(inner, 1), c(0), isRight()]).toEqual([0, 0, 0, true])
    })
  })
