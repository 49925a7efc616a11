import { setTimeout as sleep } from 'node:timers/promises'
import { tensor, type Tensor } from '@tenon/core'
import { defineModel, type Model } from '../../src/index.ts'

const signature = '(INPUT: i32[batch, 1]) -> (OUTPUT: i32[batch, 1])' as const

/** The models of Triton's own model repository that have sequences or streams. */
export const statefulModels: readonly Model[] = [
  // Adds 1 to the first input of a sequence.
  defineModel({
    name: 'simple_sequence',
    signature,
    sequence: { state: () => undefined },
    run: ({ INPUT }, { sequence: { isStart } }) => sumOf(valueOf(INPUT), isStart ? 1 : 0),
  }),
  // As the one before, and adds the number of the sequence to its last input.
  defineModel({
    name: 'simple_dyna_sequence',
    signature,
    sequence: { state: () => undefined },
    run: ({ INPUT }, { sequence: { id, isStart, isEnd } }) =>
      sumOf(valueOf(INPUT), isStart ? 1 : 0, isEnd ? Number(id) : 0),
  }),
  // The sum of all inputs of a sequence, and its number, which is a text, with the last one.
  defineModel({
    name: 'simple_string_dyna_sequence',
    signature,
    sequence: { state: () => ({ total: 0 }) },
    run: ({ INPUT }, { sequence: { id, isEnd, state } }) => {
      state.total += valueOf(INPUT)
      return sumOf(state.total, isEnd ? Number(id) : 0)
    },
  }),
  // Each element of IN after a number of milliseconds, and the end after another one.
  defineModel({
    name: 'repeat_int32',
    signature: '(IN: i32[n], DELAY: u32[n], WAIT: u32[1]) -> (OUT: i32[1])',
    run: async function* ({ IN, DELAY, WAIT }) {
      const delays = DELAY.toArray()
      for (const [i, value] of IN.toArray().entries()) {
        await sleep(delays[i])
        yield tensor('i32', [1], [value])
      }
      await sleep(WAIT.toArray()[0])
    },
  }),
]

const sumOf = (...values: number[]) => tensor('i32', [1, 1], [values.reduce((sum, value) => sum + value, 0)])

const valueOf = (one: Tensor): number => (one.view() as Int32Array)[0]!
