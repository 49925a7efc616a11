import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const core = fileURLToPath(new URL('../../core', import.meta.url))
const tests = globSync('csrc/test/tvm/*_test.c', { cwd: core })
  .map((file) => readFileSync(`${core}/${file}`, 'utf8'))
  .join('\n')

/** The functions that a header exports. */
const functionsOf = (header: string, marker: string): string[] =>
  [
    ...readFileSync(`${core}/include/tenon/${header}`, 'utf8').matchAll(
      new RegExp(`^${marker} [^;(]*?\\b(TVM\\w+)\\(`, 'gm'),
    ),
  ].map(([, name]) => name!)

it.each([
  ['tvm_ffi.h', 'TVM_FFI_EXPORT', 48],
  ['tvm_runtime.h', 'TVM_RUNTIME_EXPORT', 45],
  ['tvm_backend.h', 'TVM_BACKEND_EXPORT', 6],
])('each function of %s has a test in C', (header, marker, count) => {
  const names = functionsOf(header, marker)
  expect(names).toHaveLength(count)
  expect(names.filter((name) => !new RegExp(`\\b${name}\\(`).test(tests))).toEqual([])
})
