import { growthOf, MOST_GROWTH, type Point } from '../alive/growth.ts'
import { spreadOf } from '../statistics.ts'
import type { GrowthRow, Growing } from './suite.ts'

/** The measurements of one row. */
export interface GrowthResult {
  readonly package: string
  readonly name: string
  readonly points: readonly GrowthPoint[]
  /** The exponent with which the time grows: 1 for twice the time with twice the things. */
  readonly exponent: number
  readonly reason?: string
}

/** The time of one call with a number of things, in nanoseconds, and its quartiles. */
export interface GrowthPoint {
  readonly count: number
  readonly nanoseconds: number
  readonly quartiles: readonly [low: number, high: number]
}

/** The samples of a count. */
const SAMPLES = 15

/** The least time of a sample in milliseconds, of which a clock can tell the length. */
const LEAST = 5

/** Measures a row with each of its counts in turn, several times, so that a busy moment of the machine meets all of them. */
export async function measureGrowth(of: string, row: GrowthRow): Promise<GrowthResult> {
  const { name, counts, reason } = row
  const opened: Growing[] = []
  const samples: number[][] = counts.map(() => [])
  try {
    const runs: number[] = []
    for (const count of counts) {
      const growing = await row.open(count)
      opened.push(growing)
      runs.push(await runsOf(growing))
    }
    for (let round = 0; round < SAMPLES; round++) {
      for (const [i, growing] of opened.entries()) samples[i]!.push(await timeOf(growing, runs[i]!))
    }
  } finally {
    for (const growing of opened) await growing.close?.()
  }
  const points = counts.map((count, i) => {
    const { median, low, high } = spreadOf(samples[i]!)
    return { count, nanoseconds: median, quartiles: [low, high] as const }
  })
  const logarithmic: Point[] = points.map(({ count, nanoseconds }) => ({ count, total: nanoseconds }))
  return { package: of, name, points, exponent: growthOf(logarithmic)!, ...(reason === undefined ? {} : { reason }) }
}

/** Whether a row grows faster than it may. */
export const isGrowing = ({ exponent, reason }: GrowthResult): boolean => exponent > MOST_GROWTH && reason === undefined

/** How many calls take long enough to be timed, after as many that let the engine compile. */
async function runsOf(growing: Growing): Promise<number> {
  for (let runs = 1; ; runs *= 2) {
    const nanoseconds = runs * (await timeOf(growing, runs))
    if (nanoseconds >= LEAST * 1e6) return runs
  }
}

/** The nanoseconds of one call. */
async function timeOf(growing: Growing, runs: number): Promise<number> {
  const start = performance.now()
  for (let i = 0; i < runs; i++) {
    const result = growing.run()
    if (result instanceof Promise) await result
  }
  return (1e6 * (performance.now() - start)) / runs
}
