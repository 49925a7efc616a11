import { NativeLibrary } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { Linker, SymbolLookup } from '@tenon/scope/linker'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { f32, Library } from '../src/index.ts'
import type { IsolatedLibrary } from '../src/isolated/isolated-library.ts'
import { errorOf, fixturePath } from './isolated.ts'

const path = kernelLibrary('kernels')
const library = Library.open(path)
const packed = Library.open(fixturePath('faulty_packed'))
const libc = Library.open('libc.so.6')
let isolated: IsolatedLibrary
let isolatedPacked: IsolatedLibrary
beforeAll(async () => {
  isolated = await Library.isolate(path)
  isolatedPacked = await Library.isolate(fixturePath('faulty_packed'))
})
afterAll(async () => {
  await Promise.all([isolated.closeAsync(), isolatedPacked.closeAsync()])
  for (const open of [library, packed, libc]) open.close()
})

const strlen = { result: 'uint64', parameters: ['pointer'] } as const
const array = new Float32Array(4) as never

test.each<[string, () => unknown]>([
  ['a kernel', () => library.kernel('softmax')(array)],
  ['an asynchronous kernel', () => library.kernel('softmax').async(array)],
  ['an isolated kernel', () => isolated.kernel('softmax')(array)],
  ['a custom call', () => library.customCall('softmax')([array], { results: [f32([4])] })],
  ['a packed function', () => packed.packed('faulty')(array)],
  ['an isolated packed function', () => isolatedPacked.packed('faulty')(array)],
  ['Library.function()', () => libc.function('strlen', strlen)(array)],
  ['NativeLibrary.function()', () => NativeLibrary.ofProcess().function('strlen', strlen)(array)],
  ['Linker.downcall()', () => Linker.downcall(SymbolLookup.ofProcess().get('strlen'), strlen)(array)],
])('%s that gets a typed array for memory names from() in its hint', async (_, call) => {
  const { hint } = await errorOf(call)
  expect(hint).toBe('Pass from(array), which is a tensor over the memory of the array.')
})
