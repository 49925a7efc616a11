import { tensor } from '@tenon/core'
import { customCall, f32, typedHandler, type PreparedCall } from '@tenon/custom-call'
import { expect, test } from 'vitest'
import { kernels } from './kernels.ts'

/** Returns the bytes that each of many objects takes while all are alive. */
function bytesOfEach(count: number, make: () => unknown): number {
  const all: unknown[] = Array.from({ length: count }, make)
  all.length = 0
  const used = (): number => {
    globalThis.gc!()
    globalThis.gc!()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  const before = used()
  for (let i = 0; i < count; i++) all.push(make())
  const after = used()
  expect(all).toHaveLength(count)
  return (after - before) / count
}

test('a prepared call takes at most 2 KiB', () => {
  const handler = typedHandler(kernels, 'rms_norm')
  const type = f32([2, 4])
  const calls: PreparedCall[] = []
  const bytes = bytesOfEach(5000, () => {
    const call = handler.prepare({ operands: [type], results: [type], attrs: { eps: f32(1e-5) } })
    calls.push(call)
    return call
  })
  expect(bytes).toBeLessThanOrEqual(2048)
  for (const call of calls) call.close()
})

test('a result of a call takes at most 400 bytes', () => {
  const rmsNorm = customCall(kernels, 'rms_norm')
  const x = tensor('f32', [2, 4])
  const bytes = bytesOfEach(20_000, () => rmsNorm([x], { results: [f32([2, 4])], attrs: { eps: f32(1e-5) } }))
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
