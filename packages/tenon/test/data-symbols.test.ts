import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ArgumentError, NativeLibrary, tensor, type KernelConvention } from '@tenon/core'
import { callProvider, customCall, deviceFunction, hostFunction } from '@tenon/custom-call'
import { AttributeError } from '@tenon/packed-func'
import { afterAll, describe, expect, test } from 'vitest'
import { Library } from '../src/index.ts'
import { errorOf } from './isolated.ts'
import { compileLibrary } from './signature-library.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-data-'))
afterAll(() => rmSync(directory, { recursive: true }))

const path = compileLibrary(
  directory,
  `
  int object = 1;
  const int constant[64] = {2};
  __thread int local = 3;
  int __tvm_ffi_packed_object = 4;
  const int __tvm_ffi_packed_constant = 5;
  __thread int __tvm_ffi_packed_local = 6;
  `,
)
const names = ['object', 'constant', 'local']
const conventions: readonly KernelConvention[] = ['typed', 'host', 'host-status', 'host-unified']

describe.each(names)('the variable %s is refused', (name) => {
  const message = `${name} must be a function, got data`
  const signature = '(x: f32[n]) -> (y: f32[n])'

  test('as a kernel of each convention, in this process and in another one', async () => {
    using library = Library.open(path)
    await using isolated = await Library.isolate(path)
    for (const convention of conventions) {
      expect(() => library.kernel(name, { signature, convention })(tensor([1]))).toThrow(message)
      const error = await errorOf(() => isolated.kernel(name, { signature, convention })(tensor([1])))
      expect(error.message).toContain(message)
    }
  })

  test('as a function, and as the code of a custom call', () => {
    const library = NativeLibrary.open(path)
    const tries = [
      () => library.function(name, {}),
      () => customCall(library, name),
      () => customCall(library, { execute: name, instantiate: name }),
      () => hostFunction(library, name),
      () => deviceFunction(library, name),
      () => callProvider(library, name),
    ]
    for (const one of tries) {
      expect(one).toThrow(ArgumentError)
      expect(one).toThrow(message)
    }
    library.close()
  })

  test('as a packed function, in this process and in another one', async () => {
    using library = Library.open(path)
    expect(() => library.packed(`packed_${name}`)).toThrow(AttributeError)
    await using isolated = await Library.isolate(path)
    expect(await errorOf(() => isolated.packed(`packed_${name}`)())).toBeInstanceOf(AttributeError)
  })
})
