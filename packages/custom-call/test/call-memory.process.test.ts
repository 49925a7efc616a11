import { tensor } from '@tenon/core'
import { customCall, f32, typedHandler } from '@tenon/custom-call'
import { expect, test } from 'vitest'
import { kernels } from './kernels.ts'

function usedBytes(): number {
  globalThis.gc!()
  globalThis.gc!()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/**
 * Returns the bytes that each of many objects takes while all are alive: the median of three rounds, after one that makes what all of them
 * share. The room for the objects is taken before, and compiled code or garbage of other tests changes one round only.
 */
function bytesOfEach<Made>(count: number, make: () => Made): { readonly bytes: number; readonly all: readonly Made[] } {
  const all = Array.from<Made | undefined>({ length: 4 * count }).fill(undefined)
  const rounds = [0, 1, 2, 3].map((round) => {
    const before = usedBytes()
    for (let i = round * count; i < (round + 1) * count; i++) all[i] = make()
    return (usedBytes() - before) / count
  })
  return { bytes: rounds.slice(1).toSorted((a, b) => a - b)[1]!, all: all as readonly Made[] }
}

test('a prepared call takes at most 2 KiB', () => {
  const handler = typedHandler(kernels, 'rms_norm')
  const type = f32([2, 4])
  const { bytes, all } = bytesOfEach(10_000, () =>
    handler.prepare({ operands: [type], results: [type], attrs: { eps: f32(1e-5) } }),
  )
  expect(bytes).toBeLessThanOrEqual(2048)
  for (const call of all) call.close()
})

test('a result of a call takes at most 400 bytes', () => {
  const rmsNorm = customCall(kernels, 'rms_norm')
  const x = tensor('f32', [2, 4])
  const { bytes } = bytesOfEach(20_000, () => rmsNorm([x], { results: [f32([2, 4])], attrs: { eps: f32(1e-5) } }))
  expect(bytes).toBeLessThanOrEqual(400)
})

test('calls whose frames share memory do not affect each other, also after some are closed', () => {
  const handler = typedHandler(kernels, 'saxpy')
  const vector = f32([4])
  const [x, y] = [tensor('f32', [4], [1, 2, 3, 4]), tensor('f32', [4], [10, 10, 10, 10])]
  const calls = Array.from({ length: 100 }, (_, a) =>
    handler.prepare({ operands: [vector, vector], results: [vector], attrs: { a: f32(a) } }),
  )
  const results = calls.map(() => tensor('f32', [4]))
  const runAll = (): void =>
    calls.forEach((call, a) => {
      if (!call.isAlive) return
      call.run([x, y], [results[a]!])
      expect(results[a]!.toArray()).toStrictEqual([1, 2, 3, 4].map((value) => a * value + 10))
    })
  runAll()
  calls.forEach((call, i) => i % 3 === 0 && call.close())
  runAll()
  for (const call of calls) call[Symbol.dispose]()
})
