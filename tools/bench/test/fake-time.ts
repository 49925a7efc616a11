import type { Loop } from '../src/loop.ts'
import type { Clock } from '../src/measure.ts'

/** Time that only passes when a contestant takes it. */
export interface FakeTime {
  readonly clock: Clock
  /** A loop whose iterations take that many nanoseconds each, and that notes its name when it is run. */
  readonly taking: (nanoseconds: number, name?: string) => Loop
  /** The runs so far: who ran and for how many iterations. */
  readonly runs: { name: string; iterations: number }[]
  /** What every iteration is slowed by from now on. */
  slowdown: number
}

export function fakeTime(): FakeTime {
  let now = 0
  const time: FakeTime = {
    clock: () => now,
    taking: (nanoseconds, name = '') => {
      return (iterations) => {
        now += nanoseconds * iterations * time.slowdown
        time.runs.push({ name, iterations })
      }
    },
    runs: [],
    slowdown: 1,
  }
  return time
}
