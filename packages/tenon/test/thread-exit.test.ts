import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tensor } from '@tenon/core'
import { XlaError } from '@tenon/custom-call'
import { PackedFuncError } from '@tenon/packed-func'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Library } from '../src/index.ts'
import { errorOf } from './isolated.ts'
import { compileLibrary } from './signature-library.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-exit-'))
let library: Library
beforeAll(() => {
  const source = `
    #include <pthread.h>
    #include <tenon/kernel.h>
    #include <tenon/tvm_ffi.h>
    TN_KERNEL(typed, "(x: f32[n]) -> (y: f32[n])") {
      const tn_xla_buffer_t *x = tn_xla_arg(in, 0, TN_XLA_F32, 1), *y = tn_xla_ret_like(in, 0, x);
      if (!tn_xla_complete(in)) return;
      if (*(const float *)x->data == 0) pthread_exit(0);
      *(float *)y->data = 3;
    }
    TN_SIGNATURE(host, "(x: f32[n]) -> (y: f32[n])"); TN_XLA_MARK_HOST(host);
    TN_XLA_EXPORT void host(void *out, const void **in) { if (*(const float *)in[0] == 0) pthread_exit(0); *(float *)out = 2; }
    TVM_FFI_EXPORT int __tvm_ffi_packed(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) { pthread_exit(0); }
  `
  library = Library.open(compileLibrary(directory, source))
})
afterAll(() => {
  library.close()
  rmSync(directory, { recursive: true })
})

test('asynchronous kernels that end their thread are errors, and the library can be closed', async () => {
  const [typed, host] = [library.kernel('typed'), library.kernel('host')]
  for (let i = 0; i < 10; i++) {
    for (const call of [() => typed.async(tensor([0])), () => host.async(tensor([0]))]) {
      const error = await errorOf(call)
      expect(error).toBeInstanceOf(XlaError)
      expect(error.message).toContain('pthread_exit() ended the thread of the call')
    }
    expect((await host.async(tensor([1]))).toArray()).toEqual([2])
    expect((await typed.async(tensor([1]))).toArray()).toEqual([3])
  }
})

test('an asynchronous packed function that ends its thread is an error', async () => {
  for (let i = 0; i < 10; i++) {
    const error = await errorOf(() => library.packed('packed').async())
    expect(error).toBeInstanceOf(PackedFuncError)
    expect(error.message).toContain('pthread_exit() ended the thread of the call')
  }
})
