import { copyFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatSignature, LoadError, tensor } from '@tenon/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Library } from '../src/index.ts'
import { errorOf } from './isolated.ts'
import { compileLibrary } from './signature-library.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-replaced-'))
afterAll(() => rmSync(directory, { recursive: true }))

/** A library whose kernels, packed function and exports depend on the version. */
const source = (version: number): string => `
  #include <stdlib.h>
  #include <tenon/tvm_ffi.h>
  TN_SIGNATURE(scale, "(x: f32[n]) -> (y: f32[${version === 1 ? 'n' : '1'}])"); TN_XLA_MARK_HOST(scale);
  TN_SIGNATURE(crash, "(x: f32[n]) -> (y: f32[n])"); TN_XLA_MARK_HOST(crash);
  TN_XLA_EXPORT void scale(void *out, const void **in) { *(float *)out = ${version} * *(const float *)in[0]; }
  TN_XLA_EXPORT void crash(void *out, const void **in) { abort(); }
  TVM_FFI_EXPORT int __tvm_ffi_version(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
    *result = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = ${version}};
    return 0;
  }
  TVM_FFI_EXPORT int only_${version}(void) { return ${version}; }
`
const versions: string[] = []
beforeAll(() => {
  for (const version of [1, 2]) versions.push(compileLibrary(directory, source(version), `libv${version}.so`))
})

let files = 0
const newPath = (): string => join(directory, `lib${files++}.so`)

/** Puts a version at a path, as linkers do. */
function put(version: 1 | 2, path: string): string {
  copyFileSync(versions[version - 1]!, `${path}.new`)
  renameSync(`${path}.new`, path)
  return path
}

test.each([true, false])('Library.open() reads and loads the file that is there now (closed before: %s)', (closes) => {
  const path = newPath()
  for (const version of [1, 2, 1] as const) {
    put(version, path)
    const library = Library.open(path)
    const scale = library.kernel('scale')
    expect(scale(tensor([5])).toArray()).toEqual([version * 5])
    expect(formatSignature(scale.signature)).toContain(version === 1 ? 'y: f32[n]' : 'y: f32[1]')
    expect(library.packed('version')()).toBe(version)
    expect(library.function(`only_${version}`, { result: 'int32', parameters: [] })()).toBe(version)
    expect(() => library.native.symbol(`only_${3 - version}`)).toThrow(LoadError)
    if (closes) library.close()
  }
})

test('a library whose file was replaced runs its own code, and does not read the other file', () => {
  const path = put(1, newPath())
  using library = Library.open(path)
  const scale = library.kernel('scale')
  using unread = Library.open(path)
  put(2, path)
  expect(scale(tensor([5])).toArray()).toEqual([5])
  const refusals = [() => unread.kernel('scale'), () => unread.kernels(), () => unread.packed('version')]
  for (const refused of refusals) {
    expect(refused).toThrow(LoadError)
    expect(refused).toThrow(/was replaced after the library was opened/)
  }
  expect(unread.function('only_1', { result: 'int32', parameters: [] })()).toBe(1)
  put(1, path)
  expect(scale(tensor([6])).toArray()).toEqual([6])
  rmSync(path)
  expect(() => unread.kernels()).toThrow(LoadError)
})

test('a library with a relative path is read after the working directory has changed', () => {
  const here = process.cwd()
  put(2, join(directory, 'librelative.so'))
  process.chdir(directory)
  try {
    using library = Library.open('./librelative.so')
    process.chdir(here)
    expect(
      library
        .kernel('scale')(tensor([5]))
        .toArray(),
    ).toEqual([10])
    expect(library.packed('version')()).toBe(2)
  } finally {
    process.chdir(here)
  }
})

test('all workers of an isolated library run the file that was opened, or refuse calls', async () => {
  const path = put(1, newPath())
  await using library = await Library.isolate(path, { workers: 2, restart: { limit: 100, backoff: 0 } })
  const [scale, crash] = [library.kernel('scale'), library.kernel('crash')]
  const answers = async (): Promise<unknown[]> => {
    const calls = await scale.batch(Array.from({ length: 8 }, (_, i) => [tensor([1]), { affinity: String(i) }]))
    return calls.map((one) => (one.status === 'fulfilled' ? one.value.toArray()[0] : (one.reason as Error).name))
  }
  expect(new Set(await answers())).toEqual(new Set([1]))
  put(2, path)
  expect(new Set(await answers())).toEqual(new Set([1]))
  await errorOf(() => crash.async(tensor([1])))
  for (const one of await answers()) expect([1, 'LoadError']).toContain(one)
  await library.restart()
  const error = await errorOf(() => scale(tensor([1])))
  expect(error).toBeInstanceOf(LoadError)
  expect(error.message).toMatch(/was replaced after the library was opened[^]*Open the library again/)
  expect(() => library.kernels()).toThrow(LoadError)
  await using again = await Library.isolate(path)
  expect(
    again
      .kernel('scale')(tensor([1]))
      .toArray(),
  ).toEqual([2])
})

test('workers that start after the file was replaced refuse it, also for packed functions', async () => {
  const path = put(1, newPath())
  await using library = await Library.isolate(path)
  const version = library.packed('version')
  put(2, path)
  expect(await errorOf(() => library.load())).toBeInstanceOf(LoadError)
  const error = await errorOf(() => version())
  expect(error).toBeInstanceOf(LoadError)
  expect(error.message).toMatch(/Open the library again/)
  // A copy of the same build is the same file.
  put(1, path)
  expect(await version.async()).toBe(1)
})

test('workers in Node.js refuse a script that was replaced', async () => {
  const path = join(directory, 'script.mjs')
  const script = (factor: number): void => {
    writeFileSync(`${path}.new`, `export const scale = ([x], [y]) => y.set(x.toArray().map((one) => ${factor} * one))`)
    renameSync(`${path}.new`, path)
  }
  script(1)
  await using library = await Library.isolate(path, { host: 'node' })
  const scale = library.kernel('scale', { signature: '(x: f32[n]) -> (y: f32[n])' })
  expect(scale(tensor([3])).toArray()).toEqual([3])
  script(2)
  expect(scale(tensor([3])).toArray()).toEqual([3])
  await library.restart()
  const error = await errorOf(() => scale(tensor([3])))
  expect(error).toBeInstanceOf(LoadError)
  expect(error.message).toMatch(/was replaced after the library was opened/)
})
