import { tensor } from '@tenon/core'
import { StringTensor } from '@tenon/tstring'
import { expect, test } from 'vitest'
import { TensorFlowError } from '../src/errors/tensorflow-error.ts'
import { counts, openTestKernel } from './open-kernels.ts'

/** Runs calls, and returns the growth of the memory of the process in MiB. */
function growthOf(calls: number, call: () => void): number {
  for (let i = 0; i < calls / 10; i++) call()
  globalThis.gc?.()
  const before = process.memoryUsage().rss
  for (let i = 0; i < calls; i++) call()
  globalThis.gc?.()
  return (process.memoryUsage().rss - before) / 2 ** 20
}

test('100,000 calls with strings leave no memory of native code', { timeout: 120_000 }, () => {
  const decorate = openTestKernel('Decorate')
  const words = StringTensor.from(['a', 'a string that is longer than a struct can hold'])
  const before = counts()
  // A block of 64 bytes that each call left would be 6 MiB, and its result twice that.
  const growth = growthOf(100_000, () => decorate(words, { suffix: '?' }))
  expect(growth).toBeLessThan(64)
  expect(counts()).toEqual([before[0]! + 1, before[1]])
})

test('calls that fail, and results that are not in place, leave no memory of native code', { timeout: 120_000 }, () => {
  const [misuse, same, negate] = [openTestKernel('Misuse'), openTestKernel('Same'), openTestKernel('Negate')]
  const before = counts()[1]
  for (let i = 0; i < 2000; i++) {
    const x = tensor('f32', [(i % 7) + 1])
    for (const what of [0, 2, 8, 9]) expect(() => misuse(x, { what })).toThrow(TensorFlowError)
    same(x)
    negate(x)
  }
  expect(counts()[1]).toBe(before)
})
