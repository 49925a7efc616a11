import { expect, test } from 'vitest'

import { findHandDeclarations } from '../src/checks/core-functions.ts'

const find = (text: string, path = 'packages/pools/src/native/core.ts'): string[] =>
  findHandDeclarations([{ path, text }])

test('functions of the core may be used through the generated table', () => {
  expect(find('const { tn_memory_copy: copy } = coreFunctions()\ncopy(to, from, 8)')).toEqual([])
  expect(find("libraryFunctions('tvm_runtime').tn_tvm_legacy_install()")).toEqual([])
  expect(find("let execute: CoreFunctions['tn_xla_execute']")).toEqual([])
  expect(find("const address = coreFunctionAddress('tn_xla_async_arrive')")).toEqual([])
  expect(find("entry(packedAddress('tn_packed_call'))")).toEqual([])
  expect(find('// tn_memory_copy\nthrow new Error(`tn_memory_copy failed: ${reason}`)')).toEqual([])
})

test('refuses the name of a core function in any string', () => {
  const problem =
    'names tn_memory_copy: use coreFunctions().tn_memory_copy or libraryFunctions(), which know its signature'
  for (const text of [
    "library.symbol('tn_memory_copy')",
    'coreFunctions()["tn_memory_copy"](to, from, 8)',
    'lookUp(`tn_memory_copy`)',
    "const table = { copy: ['tn_memory_copy', 'void', 3] }",
  ]) {
    expect(find(`\n${text}`)).toEqual([`packages/pools/src/native/core.ts:2 ${problem}`])
  }
})

test('refuses a declaration from a hand-written signature', () => {
  const text = "functionAt(address, 'int32_t', ['uintptr_t'])"
  const problem = 'calls functionAt(): declare the function in a header, and tenon-build generates its signature'
  expect(find(text)).toEqual([`packages/pools/src/native/core.ts:1 ${problem}`])
  expect(find('coreLibrary().bindCore(address)')).toHaveLength(1)
  expect(find(text, 'packages/custom-call/src/cuda/driver-functions.ts')).toEqual([])
})

test('the core itself, tests and benchmarks may declare functions by name', () => {
  const text = "bindCore(find('tn_version'), 'uintptr_t')"
  for (const path of [
    'packages/core/src/native/core-library.ts',
    'packages/core/src/generated/functions.ts',
    'packages/core/test/core-library.test.ts',
    'packages/custom-call/bench/typed-call.bench.ts',
    'tools/tasks/src/checks/core-functions.ts',
  ]) {
    expect(find(text, path)).toEqual([])
  }
  expect(find(text, 'packages/core/src/callbacks/callback.ts')).toHaveLength(2)
})
