import { compile } from 'tenon/build'

const source = `#include <string.h>
#include <time.h>
#include <tenon/kernel.h>

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* Copies its operand, after a fixed time for each call, in which it computes. */
TN_KERNEL(copy_slowly, "(x: f32[...s]) -> (y: f32[...s]); microseconds: i64 = 0") {
  const tn_xla_buffer_t *x = tn_xla_arg(in, 0, TN_XLA_F32, TN_XLA_ANY), *y = tn_xla_ret_like(in, 0, x);
  const int64_t microseconds = tn_xla_attr_s64(in, NULL, "microseconds");
  if (!tn_xla_complete(in)) return;
  const int64_t end = now() + 1000 * microseconds;
  while (now() < end) continue;
  memcpy(y->data, x->data, (size_t)(4 * tn_xla_element_count(x)));
}
`

/** Compiles the library of the kernel `copy_slowly`, or finds it in the cache. @returns its path. */
export async function compileKernels(): Promise<string> {
  return (await compile(source, { name: 'serve-bench' })).path
}
