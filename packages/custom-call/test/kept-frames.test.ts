import { tensor, type Tensor } from '@tenon/core'
import { coreFunctions, globalGate } from '@tenon/core/internal'
import { customCall, f32, PreparedCall, TypedHandler, type CustomCall } from '@tenon/custom-call'
import { NativeScope } from '@tenon/scope'
import { afterEach, expect, test, vi } from 'vitest'
import { kernels, liveObjects } from './kernels.ts'

afterEach(() => {
  vi.restoreAllMocks()
  expect(liveObjects()).toStrictEqual({ errors: 0, futures: 0 })
})

const rows = (count: number): Tensor => tensor('f32', [count, 4], new Float32Array(4 * count).fill(count))
const [full, last] = [rows(32), rows(7)]

function run(rmsNorm: CustomCall, x: Tensor, eps: number): void {
  const y = rmsNorm([x], { results: [x.type], attrs: { eps: f32(eps) } })
  expect((y.toArray()[0] as number).toFixed(3)).toBe('1.000')
}

test('a call as a function closes its frame when the types or the attributes change, and keeps the last one', () => {
  const prepare = vi.spyOn(TypedHandler.prototype, 'prepare')
  const close = vi.spyOn(PreparedCall.prototype, 'close')
  const rmsNorm = customCall(kernels, 'rms_norm')
  for (let epoch = 0; epoch < 20; epoch++) {
    for (let i = 0; i < 5; i++) run(rmsNorm, full, 1e-5)
    run(rmsNorm, last, 1e-5)
    run(rmsNorm, last, 1e-6)
  }
  expect([prepare.mock.calls.length, close.mock.calls.length]).toStrictEqual([60, 59])
})

test('frames of a function that is dropped are collected, and the memory of their calls is free', async () => {
  const holds = globalGate.holds
  const scope = NativeScope.ofConfined()
  const made: WeakRef<object>[] = []
  const prepare = vi.spyOn(TypedHandler.prototype, 'prepare')
  ;((): void => {
    const rmsNorm = customCall(kernels, 'rms_norm')
    const x = tensor('f32', [2, 4], [1, 1, 1, 1, 1, 1, 1, 1], { allocator: scope })
    for (const one of [x, full, last, x]) run(rmsNorm, one, 1e-5)
    for (const { value } of prepare.mock.results) made.push(new WeakRef(value as PreparedCall))
  })()
  prepare.mockRestore()
  // The kept frame holds no memory.
  scope.close()
  for (let i = 0; i < 20 && made.some((one) => one.deref() !== undefined); i++) {
    await new Promise((resolve) => setTimeout(resolve))
    globalThis.gc!()
  }
  expect(made.map((one) => one.deref())).toStrictEqual([undefined, undefined, undefined, undefined])
  expect(globalGate.holds).toBe(holds)
})

test('ten thousand changes of the frame leave memory and states as they were', async () => {
  const rmsNorm = customCall(kernels, 'rms_norm')
  const y = [rows(32), rows(7)]
  const attrs = { eps: f32(1e-5) }
  const states = coreFunctions().tn_xla_live_states()
  /** Returns the memory after as many calls. */
  const measure = async (count: number): Promise<number> => {
    for (let i = 0; i < count; i++) rmsNorm([i % 2 === 0 ? full : last], { results: [y[i % 2]!], attrs })
    for (let i = 0; i < 2; i++) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      globalThis.gc!()
    }
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  await measure(10_000)
  const before = await measure(10_000)
  expect((await measure(10_000)) - before).toBeLessThan(2 ** 19)
  expect(coreFunctions().tn_xla_live_states()).toBe(states)
})
