import type { Loop } from '../src/loop.ts'
import type { Clock } from '../src/measure.ts'

/** A clock that only advances when a contestant runs. */
export interface FakeTime {
  readonly clock: Clock
  /** Returns a loop whose iterations take that many nanoseconds, and which records its runs. */
  readonly taking: (nanoseconds: number, name?: string) => Loop
  /** The recorded runs, with the name and the iterations of each. */
  readonly runs: { name: string; iterations: number }[]
  /** The factor by which later iterations are slower. */
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
