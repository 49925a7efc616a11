import { freemem } from 'node:os'
import { shown } from '../bench-files.ts'
import type { Contestant } from './contestants.ts'
import type { ObjectSample } from './measure-objects.ts'
import type { AliveRow } from './suite.ts'

/** A row of a suite, with the file that exports it. */
export interface AliveTask {
  readonly file: string
  readonly package: string
  readonly row: AliveRow
}

/** The samples of one row on one contestant, one list for each count that was measured. */
export interface AliveSeries {
  readonly task: AliveTask
  readonly contestant: Contestant
  readonly samples: Map<number, ObjectSample[]>
  /** Why counts were not measured. */
  readonly skipped: Map<number, string>
}

export interface AliveOptions {
  readonly tasks: readonly AliveTask[]
  readonly contestants: readonly Contestant[]
  readonly counts: readonly number[]
  readonly rounds: number
  readonly progress: (line: string) => void
  /** The bytes that are free. The objects of a count take at most half of them. */
  readonly freeBytes?: () => number
}

/** The longest time of one filling, in nanoseconds. Larger counts are left out. */
const LONGEST_FILLING = 20e9

/**
 * Measures every count of every row in a process of its own, one at a time. The rows and the contestants take turns within a
 * round, and each round begins with another row.
 */
export async function runAlive(options: AliveOptions): Promise<{ series: AliveSeries[]; failures: string[] }> {
  const { tasks, contestants, counts, rounds, progress, freeBytes = freemem } = options
  const series: AliveSeries[] = tasks.flatMap((task) =>
    contestants
      .filter(({ isNumpy }) => !isNumpy || task.row.numpy !== undefined)
      .map((contestant) => ({ task, contestant, samples: new Map(), skipped: new Map() })),
  )
  const failures: string[] = []
  for (let round = 0; round < rounds; round++) {
    for (const alive of counts.toSorted((a, b) => a - b)) {
      progress(`round ${round + 1} of ${rounds}: ${alive.toLocaleString('en')} alive`)
      for (let place = 0; place < series.length; place++) {
        const current = series[(place + round) % series.length]!
        await measure(current, alive, failures, freeBytes)
      }
    }
  }
  return { series, failures }
}

async function measure(
  { task, contestant, samples, skipped }: AliveSeries,
  alive: number,
  failures: string[],
  freeBytes: () => number,
): Promise<void> {
  if (alive > (task.row.most ?? Infinity) || skipped.has(alive)) return
  const reason = reasonToSkip([...samples.values()].flat(), alive, freeBytes())
  if (reason !== undefined) {
    skipped.set(alive, reason)
    return
  }
  try {
    const sample = await contestant.run(task.file, task.row, alive)
    samples.set(alive, [...(samples.get(alive) ?? []), sample])
  } catch (error) {
    skipped.set(alive, 'it failed')
    failures.push(`${shown(task.file)} on ${contestant.name}: ${(error as Error).message}`)
  }
}

/** Estimates the time and the memory of a count from the smaller counts. */
export function reasonToSkip(samples: readonly ObjectSample[], alive: number, freeBytes: number): string | undefined {
  const last = samples.findLast((sample) => sample.alive < alive)
  if (last === undefined) return undefined
  const seconds = (last.make * alive) / 1e9
  if (seconds > LONGEST_FILLING / 1e9) return `it would take ${seconds.toFixed(0)} s to make the objects`
  if (last.memory === undefined) return undefined
  const bytes = ((last.memory.filled - last.memory.start) / last.alive) * alive
  return bytes > freeBytes / 2 ? `the objects would take ${(bytes / 2 ** 30).toFixed(1)} GiB` : undefined
}
