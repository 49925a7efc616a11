import { kernelLibrary } from '@tenon/kernels'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { f32, Library } from '../src/index.ts'
import type { IsolatedLibrary } from '../src/isolated/isolated-library.ts'
import { errorOf, fixturePath } from './isolated.ts'

const path = kernelLibrary('kernels')
const library = Library.open(path)
const packed = Library.open(fixturePath('faulty_packed'))
let isolated: IsolatedLibrary
let isolatedPacked: IsolatedLibrary
beforeAll(async () => {
  isolated = await Library.isolate(path)
  isolatedPacked = await Library.isolate(fixturePath('faulty_packed'))
})
afterAll(async () => {
  await Promise.all([isolated.closeAsync(), isolatedPacked.closeAsync()])
  for (const open of [library, packed]) open.close()
})

const array = new Float32Array(4) as never

test.each<[string, () => unknown]>([
  ['a kernel', () => library.kernel('softmax')(array)],
  ['an asynchronous kernel', () => library.kernel('softmax').async(array)],
  ['an isolated kernel', () => isolated.kernel('softmax')(array)],
  ['a custom call', () => library.customCall('softmax')([array], { results: [f32([4])] })],
  ['a packed function', () => packed.packed('faulty')(array)],
  ['an isolated packed function', () => isolatedPacked.packed('faulty')(array)],
])('%s that gets a typed array for memory names from() in its hint', async (_, call) => {
  const { hint } = await errorOf(call)
  expect(hint).toBe('Pass from(array), which is a tensor over the memory of the array.')
})
