import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Library, tensor } from '../src/index.ts'
import { compileLibrary } from './signature-library.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-late-'))
let library: Library
beforeAll(() => {
  const take = 'const tn_xla_buffer_t *x = tn_xla_arg(in, 0, TN_XLA_F32, 1), *y = tn_xla_ret_like(in, 0, x)'
  const source = `
    #include <tenon/kernel.h>
    TN_KERNEL(late, "(x: f32[n]) -> (y: f32[n]); factor: f32 = 2, offset: f32 = 1") {
      ${take};
      const float offset = tn_xla_attr_f32(in, NULL, "offset");
      if (!tn_xla_complete(in)) return;
      *(float *)y->data = *(const float *)x->data * tn_xla_attr_f32(in, NULL, "factor") + offset;
    }
    TN_KERNEL(unread, "(x: f32[n], other: f32[n]) -> (y: f32[n])") {
      ${take};
      if (!tn_xla_complete(in)) return;
      *(float *)y->data = *(const float *)x->data;
    }
  `
  library = Library.open(compileLibrary(directory, source))
})
afterAll(() => {
  library.close()
  rmSync(directory, { recursive: true })
})

test('a kernel that takes an attribute after tn_xla_complete() fails with the name of the attribute', () => {
  expect(() => library.kernel('late')(tensor([1]))).toThrow(
    'expected 3 in total but got 1, 1 and 2, and the attribute factor was not taken. Those that are taken after tn_xla_complete() do not count',
  )
})

test('a kernel that does not take an operand fails with the numbers', () => {
  expect(() => library.kernel('unread')(tensor([1]), tensor([2]))).toThrow(
    'expected 2 in total but got 2, 1 and 0. Those that are taken after tn_xla_complete() do not count',
  )
})
