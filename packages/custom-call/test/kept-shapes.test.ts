import { parseSignature, tensor, tensorType, type Tensor, type TensorType } from '@tenon/core'
import { globalGate } from '@tenon/core/internal'
import { targetCall, typedHandler } from '@tenon/custom-call'
import { makeKernel, type FrameCall } from '@tenon/custom-call/internal'
import { expect, test } from 'vitest'
import { MOST_SHAPES } from '../src/call/frames.ts'
import { kernels } from './kernels.ts'

// A function keeps what it has inferred for a bounded number of shapes.

/** Makes a kernel, and counts the calls that it prepares, those for other sizes, and the runs by length. */
function makeRecorder(attributes = '') {
  const counts = { prepared: 0, resized: 0 }
  const callOf = (types: readonly TensorType[], frame = { running: false }): FrameCall => ({
    frame,
    shape: { types },
    isAlive: true,
    closeAfterRuns: () => {},
    withTypes: (other) => {
      if (other !== types) counts.resized++
      return callOf(other, frame)
    },
  })
  const signature = parseSignature('recorded', `(x: f32[n, 0]) -> (y: f32[n, 0])${attributes}`)
  const kernel = makeKernel<FrameCall, undefined>(signature, undefined, {
    frames: { limit: 8, gate: globalGate },
    prepare: ({ operands, results }) => {
      counts.prepared++
      return callOf([...operands, ...results] as TensorType[])
    },
    run: ({ shape, frame }, list) => {
      expect(list.slice(2).map((one) => (one as Tensor).type)).toStrictEqual(shape.types)
      frame.running = false
    },
    runAsync: async () => {},
  })
  return { kernel: kernel as unknown as (x: Tensor, attributes?: object) => Tensor, counts }
}

const rows = (count: number): Tensor => tensor('f32', [count, 0])

test('shapes that come in turn are inferred once, as many as are kept', () => {
  const { kernel, counts } = makeRecorder()
  const all = Array.from({ length: MOST_SHAPES }, (_, i) => rows(i))
  for (let round = 0; round < 3; round++) for (const x of all) kernel(x)
  expect(counts).toStrictEqual({ prepared: 1, resized: MOST_SHAPES - 1 })
  for (const x of all.toReversed()) kernel(x)
  expect(counts).toStrictEqual({ prepared: 1, resized: MOST_SHAPES - 1 })
})

test('the oldest shape is forgotten for a new one, also if it still follows another one', () => {
  const { kernel, counts } = makeRecorder()
  for (let i = 0; i < MOST_SHAPES; i++) kernel(rows(i))
  kernel(rows(MOST_SHAPES))
  expect(counts.resized).toBe(MOST_SHAPES)
  kernel(rows(1))
  expect(counts.resized).toBe(MOST_SHAPES)
  kernel(rows(0))
  expect(counts.resized).toBe(MOST_SHAPES + 1)
  kernel(rows(2))
  expect(counts.resized).toBe(MOST_SHAPES + 1)
})

test('shapes with several attributes share the number of shapes that are kept', () => {
  const { kernel, counts } = makeRecorder('; k: s32')
  const all = Array.from({ length: MOST_SHAPES / 2 }, (_, i) => rows(i))
  for (let round = 0; round < 2; round++) for (const x of all) for (const k of [1, 2]) kernel(x, { k })
  expect(counts).toStrictEqual({ prepared: 2, resized: MOST_SHAPES - 2 })
  // A third list of attributes takes the places of the oldest shapes of the others.
  const some = all.slice(0, MOST_SHAPES / 4)
  for (let round = 0; round < 2; round++) for (const x of some) kernel(x, { k: 3 })
  expect(counts).toStrictEqual({ prepared: 3, resized: MOST_SHAPES - 3 + MOST_SHAPES / 4 })
  kernel(all.at(-1)!, { k: 1 })
  expect(counts.resized).toBe(MOST_SHAPES - 3 + MOST_SHAPES / 4)
  kernel(all[0]!, { k: 1 })
  expect(counts.resized).toBe(MOST_SHAPES - 2 + MOST_SHAPES / 4)
})

test('types of shapes that are forgotten are collected', async () => {
  const softmax = targetCall('(x: f32[n, 0]) -> (y: f32[n, 0]); temperature: f32 = 1', typedHandler(kernels, 'softmax'))
  const seen: WeakRef<TensorType>[] = []
  const first = 2 ** 20
  ;((): void => {
    // A random order, so that shapes follow older ones.
    for (let i = 0; i < 8 * MOST_SHAPES; i++) {
      const x = rows(first + i)
      seen.push(new WeakRef(x.type))
      softmax(x)
      if (i > 0) softmax(rows(first + ((i * 7919) % i)))
    }
  })()
  // Other types take their places among those that were used recently.
  for (let i = 0; i < 20_000; i++) tensorType('f32', [i, 1])
  const alive = (): number => seen.filter((one) => one.deref() !== undefined).length
  for (let i = 0; i < 20 && alive() > 2 * MOST_SHAPES; i++) {
    await new Promise((resolve) => setTimeout(resolve))
    globalThis.gc!()
  }
  expect(alive()).toBeLessThanOrEqual(2 * MOST_SHAPES)
})
