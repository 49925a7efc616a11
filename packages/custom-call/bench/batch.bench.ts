import type { Contestants, Suite } from '@tenon/bench'
import { NativeLibrary, tensor } from '@tenon/core'
import { batch, s32, typedHandler } from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'

const CALLS = 100
const attrs = { w0: s32(1), w1: s32(2), w2: s32(3), w3: s32(4) }

export const suite = {
  package: '@tenon/custom-call',
  rows: [
    {
      name: `${CALLS} typed calls in a batch, 4 buffers and 4 attributes each`,
      unit: 'ns',
      setup: (): Contestants => {
        const library = NativeLibrary.open(kernelLibrary('kernels'))
        const entries = Array.from({ length: CALLS }, () => ({
          operands: [1, 2, 3].map((value) => tensor('f32', [1], [value])),
          results: [tensor('f32', [1])],
        }))
        const { operands, results } = entries[0]!
        const call = typedHandler(library, 'weighted_sum').prepare({ operands, results, attrs })
        const steps = batch(entries.map((entry) => ({ call, ...entry })))
        const bound = entries.map((entry) => call.bind(entry.operands, entry.results))
        steps.run()
        if (entries.some((entry) => entry.results[0]!.toArray()[0] !== 18)) throw new Error('a result is wrong')
        return {
          ours: () => steps.run(),
          peers: {
            'as many bound runs': () => {
              for (let i = 0; i < CALLS; i++) bound[i]!.run()
            },
            'as many runs': () => {
              for (let i = 0; i < CALLS; i++) call.run(entries[i]!.operands, entries[i]!.results)
            },
          },
          teardown: () => {
            steps.close()
            for (const one of bound) one.close()
            call.close()
            library.close()
          },
        }
      },
    },
  ],
} satisfies Suite
