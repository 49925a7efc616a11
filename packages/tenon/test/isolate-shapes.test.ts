import { fileURLToPath } from 'node:url'
import { tensor, type Tensor } from '@tenon/core'
import { InvalidArgumentError } from '@tenon/custom-call'
import { KernelCrashError } from '@tenon/isolate'
import { WorkerHost } from '@tenon/isolate/internal'
import { kernelLibrary } from '@tenon/kernels'
import { StringTensor } from '@tenon/tstring'
import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Library } from '../src/index.ts'
import { fixturePath } from './isolated.ts'

// A worker prepares a kernel once, and runs it with tensors of any sizes.

afterEach(() => vi.restoreAllMocks())

/** The kernels that calls from now on have. A kernel is prepared by each worker that runs it. */
function watchKernels(): { readonly kernels: Set<object>; readonly forgotten: () => number } {
  const kernels = new Set<object>()
  const { run, runAsync } = WorkerHost.prototype
  vi.spyOn(WorkerHost.prototype, 'run').mockImplementation(function (this: WorkerHost, call) {
    kernels.add(call.kernel)
    return run.call(this, call) as never
  })
  vi.spyOn(WorkerHost.prototype, 'runAsync').mockImplementation(function (this: WorkerHost, call) {
    kernels.add(call.kernel)
    return runAsync.call(this, call) as never
  })
  const forget = vi.spyOn(WorkerHost.prototype, 'forget')
  // Kernels of other tests are forgotten when they are collected.
  return { kernels, forgotten: () => forget.mock.calls.filter(([kernel]) => kernels.has(kernel)).length }
}

interface Sizes {
  readonly a: number
  readonly b: number
}
type Described = { readonly y: Tensor; readonly text: Tensor<'uint8'> }

const signature = '(x: f32[a, b], s: f64[], w: s32[b]) -> (y: f32[b, a], text: u8[100])'
const operands = ({ a, b }: Sizes): Tensor[] => [tensor('f32', [a, b]), tensor('f64', []), tensor('s32', [b])]
const size = fc.integer({ min: 0, max: 40 })
const sizes = fc.record({ a: size, b: size })

function expectSeen({ a, b }: Sizes, { y, text }: Described): void {
  const seen = Buffer.from(text.view()).toString()
  expect(seen.slice(0, seen.indexOf('\0'))).toBe(`F32[${a},${b}] F64[] S32[${b}] -> F32[${b},${a}] U8[100]`)
  expect(y.shape).toStrictEqual([b, a])
}

const vector = (length: number, value = 1): Tensor => tensor('f32', [length], new Float32Array(length).fill(value))

// Workers need Linux.
if (process.platform === 'linux') {
  describe('a kernel of a library', () => {
    test('gets the sizes of each call, and is prepared once', async () => {
      await using library = await Library.isolate(kernelLibrary('kernels'))
      const kernel = library.kernel('describe_buffers', { signature })
      const { kernels, forgotten } = watchKernels()
      await fc.assert(
        fc.asyncProperty(fc.array(sizes, { minLength: 1, maxLength: 20 }), async (all) => {
          for (const one of all) expectSeen(one, kernel(...operands(one)) as unknown as Described)
          const later = await Promise.all(all.map((one) => kernel.async(...operands(one))))
          later.forEach((result, i) => expectSeen(all[i]!, result as unknown as Described))
        }),
        { numRuns: 20 },
      )
      expect({ kernels: kernels.size, forgotten: forgotten() }).toStrictEqual({ kernels: 1, forgotten: 0 })
    })

    test('gets its own sizes in calls that overtake each other, on several workers', async () => {
      await using library = await Library.isolate(kernelLibrary('kernels'), { workers: 3 })
      const kernel = library.kernel('describe_buffers', { signature })
      const priorities = ['low', 'medium', 'high'] as const
      const all = Array.from({ length: 90 }, (_, i): Sizes => ({ a: i, b: (7 * i) % 11 }))
      const results = await Promise.all(
        all.map((one, i) => kernel.async(...operands(one), { priority: priorities[i % 3]! })),
      )
      results.forEach((result, i) => expectSeen(all[i]!, result as unknown as Described))
    })

    test('gets the sizes of a call on the worker that replaces one that has crashed', async () => {
      await using library = await Library.isolate(fixturePath('faulty'), { restart: { limit: 100, backoff: 0 } })
      const faulty = library.kernel('faulty')
      for (let n = 1; n < 6; n++) {
        expect(faulty(vector(n), { fault: 0 }).toArray()).toStrictEqual(Array(n).fill(2))
        expect(() => faulty(vector(n + 1), { fault: 2 })).toThrow(KernelCrashError)
        expect(faulty(vector(n + 2, 3), { fault: 0 }).toArray()).toStrictEqual(Array(n + 2).fill(6))
      }
    })

    test('whose stages can keep a state is prepared for each shape', async () => {
      await using library = await Library.isolate(kernelLibrary('kernels'))
      const text = '(x: f32[n]) -> (count: s64); start: s64; stages (instantiate: counter_v4_instantiate)'
      const counter = library.kernel('counter_v4', { signature: text })
      const { kernels } = watchKernels()
      // The handler takes no operand.
      for (const n of [2, 3, 4]) expect(() => counter(vector(n), { start: 5n })).toThrow(InvalidArgumentError)
      expect(kernels.size).toBe(3)
    })

    test('of an untyped convention runs any sizes', async () => {
      await using library = await Library.isolate(kernelLibrary('kernels_runtime'))
      const increment = library.kernel('increment', { signature: '(x: s32[rows, 4]) -> (y: s32[4])' })
      const { kernels } = watchKernels()
      for (let rows = 1; rows < 40; rows++) {
        const x = tensor('s32', [rows, 4], new Int32Array(4 * rows).fill(rows))
        expect(increment(x).toArray()[0]).toBe(rows + 1)
      }
      expect(kernels.size).toBe(1)
    })
  })

  describe('a kernel in TypeScript', () => {
    const path = fileURLToPath(new URL('isolation/script-kernels.ts', import.meta.url))

    test('gets the sizes of each call, and is prepared once', async () => {
      await using library = await Library.isolate(path, { host: 'node' })
      const scale = library.kernel('scale', { signature: '(x: f32[n]) -> (y: f32[n]); factor: f32 = 2' })
      const { kernels } = watchKernels()
      for (const n of [1, 5, 3, 0, 9]) {
        expect(scale(vector(n)).toArray()).toStrictEqual(Array(n).fill(2))
        expect((await scale.async(vector(n + 1))).toArray()).toStrictEqual(Array(n + 1).fill(2))
      }
      expect(kernels.size).toBe(1)
    })

    test('gets any number of strings', async () => {
      await using library = await Library.isolate(path, { host: 'node' })
      const upper = library.kernel('upper', { signature: '(t: string[n]) -> (u: string[n])' })
      const lengths = library.kernel('lengths', { signature: '(t: string[n]) -> (sizes: s32[n])' })
      const tflite = library.kernel('lengths', { signature: '(t: string<tflite>[n]) -> (sizes: s32[n])' })
      const { kernels } = watchKernels()
      for (const n of [3, 1, 0, 7, 20]) {
        const texts = Array.from({ length: n }, (_, i) => 'text '.repeat(i + 1))
        const made = StringTensor.from(texts)
        expect((upper(made as never) as unknown as StringTensor).toArray()).toStrictEqual(
          texts.map((text) => text.toUpperCase()),
        )
        expect(lengths(made as never).toArray()).toStrictEqual(texts.map((text) => text.length))
        expect(tflite(made.to('tflite') as never).toArray()).toStrictEqual(texts.map((text) => text.length))
      }
      // The number of strings is not a dimension of memory in the layout of TensorFlow Lite, so each is a kernel.
      expect(kernels.size).toBe(2 + 5)
    })
  })
}
