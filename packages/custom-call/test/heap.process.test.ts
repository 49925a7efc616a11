import { PerformanceObserver } from 'node:perf_hooks'
import { NativeLibrary, tensor } from '@tenon/core'
import { batch, FunctionTarget, hostFunction, s32, typedHandler } from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { expect, test } from 'vitest'
import { kernels } from './kernels.ts'

const CALLS = 1_000_000
/** The allowed growth: a byte for each call. The smallest object takes twelve. */
const LIMIT = CALLS

/** Returns the growth of the heap in bytes after many calls, and the number of collections meanwhile. */
interface Growth {
  readonly bytes: number
  readonly collections: number
}

function growthOnce(call: () => void): Growth {
  const observer = new PerformanceObserver(() => {})
  globalThis.gc!()
  observer.observe({ entryTypes: ['gc'] })
  const before = process.memoryUsage().heapUsed
  for (let i = 0; i < CALLS; i++) call()
  const bytes = process.memoryUsage().heapUsed - before
  const collections = observer.takeRecords().length
  observer.disconnect()
  return { bytes, collections }
}

/** Measures up to three times, because the engine may compile at any time, and returns the smallest growth. */
function growth(call: () => void): Growth {
  for (let i = 0; i < 50_000; i++) call()
  let least = growthOnce(call)
  for (let tries = 1; tries < 3 && (least.collections > 0 || least.bytes > LIMIT); tries++) {
    const next = growthOnce(call)
    if (next.bytes < least.bytes || next.collections < least.collections) least = next
  }
  return least
}

const attrs = { w0: s32(1), w1: s32(2), w2: s32(3), w3: s32(4) }
const operands = [1, 2, 3].map((value) => tensor('f32', [1], [value]))
const results = [tensor('f32', [1])]
const call = typedHandler(kernels, 'weighted_sum').prepare({ operands, results, attrs })
const both = [tensor('s32', [4])]
const increment = hostFunction(NativeLibrary.open(kernelLibrary('kernels_runtime')), 'increment')

const bound = call.bind(operands, results)
const untyped = increment.prepare({ operands: both, results: both })
const boundUntyped = untyped.bind(both, both)
const target = FunctionTarget.open('nothing', '(x: s32[4]) -> (y: s32[4])', () => {})
const boundFunction = target.handler.prepare({ operands: both, results: both }).bind(both, both)
const steps = batch([
  { call, operands, results },
  { call: untyped, operands: both, results: both },
])

test.each([
  ['a bound call', () => bound.run()],
  ['a call whose pointers are patched', () => call.run(operands, results)],
  ['a bound untyped call', () => boundUntyped.run()],
  ['an untyped call whose pointers are patched', () => untyped.run(both, both)],
  ['a batch', () => steps.run()],
  ['a bound TypeScript target', () => boundFunction.run()],
] as const)('%s allocates nothing: a million of them leave the heap as it was', (_, run) => {
  const { bytes, collections } = growth(run)
  expect(bytes).toBeLessThan(LIMIT)
  expect(collections).toBe(0)
})
