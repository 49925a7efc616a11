import { kernelLibrary } from '@tenon/kernels'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { f32, Library, tensor, type Tensor } from '../src/index.ts'
import type { IsolatedLibrary } from '../src/isolated/isolated-library.ts'

const path = kernelLibrary('kernels')
const library = Library.open(path)
let isolated: IsolatedLibrary
beforeAll(async () => {
  isolated = await Library.isolate(path)
})
afterAll(async () => {
  await isolated.closeAsync()
  library.close()
})

const array = Float32Array.of(1, 2, 3, 4)

test.each<[string, () => unknown]>([
  ['a kernel', () => library.kernel('softmax')(array)],
  ['an asynchronous kernel', () => library.kernel('softmax').async(array)],
  ['an isolated kernel', () => isolated.kernel('softmax')(array)],
  [
    'a custom call',
    () => library.customCall('softmax')([array as never], { results: [f32([4])], attrs: { temperature: f32(1) } }),
  ],
])('%s takes a typed array as its operand', async (_, call) => {
  const expected = library
    .kernel('softmax')(tensor([1, 2, 3, 4]))
    .toArray()
  expect(((await call()) as Tensor).toArray()).toEqual(expected)
})
