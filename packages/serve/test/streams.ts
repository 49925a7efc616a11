import { tensor } from '@tenon/core'
import { defineModel, type Model } from '../src/index.ts'

/** The model `count`, which yields the numbers from 0 below its input. */
export const count: Model = defineModel({
  name: 'count',
  signature: '(n: s32[1]) -> (i: s32[1])',
  run: async function* ({ n }) {
    const [end] = n.view() as Int32Array
    for (let i = 0; i < end!; i++) yield tensor('s32', [1], [i])
  },
})

/** The events of the generators of a model, as the test sees them. */
export interface Watched {
  readonly model: Model
  /** How often a generator was asked for its next element. */
  asked: number
  /** The generators that began, and those whose `finally` block ran. */
  begun: number
  ended: number
  /** The signals of the generators, in the order in which they began. */
  readonly signals: AbortSignal[]
}

/** The model `endless`, which yields an array of a number of floats until its client leaves. */
export function endlessModel(
  size: number,
  options: { readonly instances?: number; readonly deadline?: number } = {},
): Watched {
  const watched = {
    asked: 0,
    begun: 0,
    ended: 0,
    signals: [] as AbortSignal[],
    model: defineModel({
      name: 'endless',
      signature: `(x: f32[1]) -> (y: f32[${size}])`,
      ...options,
      run: async function* (_, { signal }) {
        watched.begun++
        watched.signals.push(signal)
        const y = tensor('f32', [size])
        try {
          for (;;) {
            watched.asked++
            yield y
          }
        } finally {
          watched.ended++
        }
      },
    }),
  }
  return watched
}

/** The model `stepped`, whose streams yield their input when the test says so. */
export function steppedModel(): { readonly model: Model; step(x: number): void; finish(): void } {
  const waiting = new Map<number, () => void>()
  const state = { isFinished: false }
  const model = defineModel({
    name: 'stepped',
    signature: '(x: s32[1]) -> (y: s32[1])',
    run: async function* ({ x }) {
      const [key] = x.view() as Int32Array
      while (!state.isFinished) {
        await new Promise<void>((resolve) => waiting.set(key!, resolve))
        if (!state.isFinished) yield x
      }
    },
  })
  return {
    model,
    step: (x) => waiting.get(x)!(),
    finish: () => {
      state.isFinished = true
      for (const resolve of waiting.values()) resolve()
    },
  }
}
