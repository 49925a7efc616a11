import { aliveResultOf, type AliveResult } from '../../src/alive/alive-result.ts'
import type { Contestant } from '../../src/alive/contestants.ts'
import type { ObjectSample } from '../../src/alive/measure-objects.ts'
import type { AliveTask } from '../../src/alive/run-alive.ts'
import type { AliveRow } from '../../src/alive/suite.ts'

/** A contestant that answers from a function. */
export function contestant(
  sampleOf: (row: AliveRow, alive: number) => ObjectSample | Promise<ObjectSample>,
  name = 'Node 24.21.0',
): Contestant {
  return { name, isNumpy: name.startsWith('NumPy'), run: async (_file, row, alive) => sampleOf(row, alive) }
}

/** A task whose objects are never made, because fake contestants measure them. */
export function task(changes: Partial<AliveRow> = {}): AliveTask {
  const row: AliveRow = { name: 'thing', setup: () => ({ make: () => ({}) }), ...changes }
  return { file: '/x/alive.ts', package: '@tenon/x', row }
}

/** The sample of objects that take `life` nanoseconds and `bytes` resident bytes. */
export function sample(alive: number, life: number, bytes = 100, leak = 0): ObjectSample {
  if (alive < 10_000) return { alive, life, make: life }
  const start = 1e8
  const memory = { start, filled: start + bytes * alive, ended: start, leak, heap: 40 * alive, external: 0 }
  return { alive, life, make: life / 2, memory }
}

/** The result of one row for which `lives` has the time for each count, the same in two rounds. */
export function result(
  lives: Readonly<Record<number, number>>,
  row: Partial<AliveRow> = {},
  name?: string,
): AliveResult {
  const samples = Object.entries(lives).map(([count, life]): [number, ObjectSample[]] => {
    const one = sample(Number(count), life)
    return [Number(count), [one, one]]
  })
  const never = contestant(() => Promise.reject(new Error('not measured')), name)
  return aliveResultOf({ task: task(row), contestant: never, samples: new Map(samples), skipped: new Map() })
}
