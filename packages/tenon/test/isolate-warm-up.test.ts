import { tensor } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { expect, test } from 'vitest'
import { Library } from '../src/index.ts'

const x = tensor('f32', [1, 2], [0, 0])

test('warmUp() runs once for each worker, and again for those that replace them', async () => {
  await using library = await Library.isolate(kernelLibrary('kernels'), { workers: 2 })
  const softmax = library.kernel('softmax')
  let calls = 0
  const end = await softmax.warmUp(async (affinity) => {
    await softmax.async(x, {}, { affinity })
    calls++
  })
  expect(calls).toBe(2)
  expect(library.health().workers.map((worker) => worker.calls)).toEqual([1, 1])

  await library.restart()
  // It begins when its worker is warm.
  expect((await softmax.async(x)).toArray()).toEqual([0.5, 0.5])
  expect(calls).toBeGreaterThanOrEqual(3)
  end()
  await expect(softmax.warmUp(() => Promise.reject(new Error('no weights')))).rejects.toThrow('no weights')
})

test('warmUp() is refused after the library was closed', async () => {
  const library = await Library.isolate(kernelLibrary('kernels'))
  const softmax = library.kernel('softmax')
  await library.closeAsync()
  await expect(softmax.warmUp(async () => {})).rejects.toThrow('closed')
})
