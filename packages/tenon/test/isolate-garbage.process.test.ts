import { tensor } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { getHeapSpaceStatistics } from 'node:v8'
import { expect, test } from 'vitest'
import { Library } from '../src/index.ts'

/** The bytes of objects that outlived collections of young objects. */
const oldBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')!.space_used_size

test('asynchronous calls leave no objects for the next full collection', async () => {
  await using library = await Library.isolate(kernelLibrary('kernels'))
  const softmax = library.kernel('softmax')
  const [x, into] = [tensor([[1, 2]]), tensor('f32', [1, 2])]
  const call = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      const { signal } = new AbortController()
      await softmax.async(x, undefined, { into, signal })
    }
  }
  const oldBytesOf = async (calls: number): Promise<number> => {
    globalThis.gc!()
    const before = oldBytes()
    await call(calls)
    return (oldBytes() - before) / calls
  }
  // Compiled code is old as well.
  await call(3000)
  // Other code in this process may also leave old objects, but not in every round. Calls would in each.
  const rounds = []
  for (let i = 0; i < 5; i++) rounds.push(await oldBytesOf(2000))
  // A call makes objects of 14 kB.
  expect(Math.min(...rounds)).toBeLessThan(100)
})
