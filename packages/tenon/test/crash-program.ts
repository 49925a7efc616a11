import { packageFlags } from '@tenon/config/package-flags'
import { runScript, type ScriptResult } from '@tenon/core/testing'
import { fileURLToPath } from 'node:url'
import { compileLibrary } from './signature-library.ts'

/** Functions and kernels that crash. Processes that die in other ways are those of `crash_report_test.c`. */
const SOURCE = `
#include <tenon/kernel.h>
#include <stdlib.h>
static float *volatile nothing;
static void __attribute__((noinline)) leaf(void) { nothing[1] = 1; /* leaf */ }
int32_t fault(int32_t which) {
  if (which == 0) leaf();
  if (which == 1) abort();
  return which;
}
int32_t call_back(int32_t (*function)(int32_t)) { return function(1); }
TN_KERNEL(fault_kernel, "(x: f32[n, d], k: i32[]) -> (y: f32[n, d]); which: i32") {
  const int32_t which = tn_xla_attr_s32(in, NULL, "which");
  const tn_xla_buffer_t *x = tn_xla_arg(in, 0, TN_XLA_F32, 2);
  tn_xla_arg(in, 1, TN_XLA_S32, 0);
  tn_xla_ret_like(in, 0, x);
  if (!tn_xla_complete(in)) return;
  fault(which);
}
typedef struct { int32_t type, padding; int64_t value; } any_t;
int __tvm_ffi_fault_packed(void *self, const any_t *args, int32_t count, any_t *result) {
  (void)self; (void)count;
  result->type = 1;
  result->value = fault((int32_t)args[0].value);
  return 0;
}
`

/** The line of a marker in the file that {@link compileCrashes} compiles, which has two more lines at first. */
export const lineOf = (marker: string): number =>
  SOURCE.split('\n').findIndex((line) => line.includes(`/* ${marker} */`)) + 3

/** Compiles the functions. @param more C code, with which the library has another build ID */
export const compileCrashes = (directory: string, more = ''): string =>
  compileLibrary(directory, `${SOURCE}${more}`, 'libfaults.so', 'c', '-g', '-O1', '-Wl,--build-id')

/** The names that programs use. */
const HEAD = `
  import { Worker } from 'node:worker_threads'
  import { NativeLibrary, tensor } from '@tenon/core'
  import { Module } from '@tenon/packed-func'
  import { installCrashReporter, Library } from './src/index.ts'
  const path = process.env.FAULTS
  const number = { result: 'int32', parameters: ['int32'] }
`

/** Runs a program that uses these names, in this package. */
export const runCrash = (
  library: string,
  script: string,
  env: Record<string, string> = {},
  flags: readonly string[] = ['--no-warnings'],
): Promise<ScriptResult> =>
  runScript(HEAD + script, {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env: { FAULTS: library, ...env },
    nodeOptions: [...packageFlags, ...flags],
  })
