import { type Spread, spreadOf } from '../statistics.ts'
import { growthOf, MOST_GROWTH, type Point } from './growth.ts'
import type { MemorySample, ObjectSample } from './measure-objects.ts'
import type { AliveSeries } from './run-alive.ts'
import { type AliveTarget, MANY_ALIVE } from './suite.ts'

/** The medians and quartiles over the processes of one count. Times are in nanoseconds for one object. */
export interface CountResult {
  readonly alive: number
  readonly life: Spread
  readonly make: Spread
  readonly memory?: {
    /** The resident bytes of an object. */
    readonly bytes: Spread
    /** The bytes of an object in the JavaScript heap, and in memory that JavaScript objects refer to. */
    readonly heap: Spread
    readonly external: Spread
    /** The resident memory after the objects were ended, as a part of the resident memory at the start. */
    readonly after: Spread
    /** The bytes of an object that each further filling and ending left behind. */
    readonly leak: Spread
  }
  readonly processes: number
}

export interface AliveResult {
  readonly package: string
  readonly name: string
  readonly isPeer: boolean
  /** The runtime: `Node 24.21.0`, `NumPy 1.24.2`. */
  readonly runtime: string
  readonly isNumpy: boolean
  readonly counts: readonly CountResult[]
  /** The exponents of the time and of the resident memory over the counts, one for each round. */
  readonly growth?: { readonly time: Spread; readonly bytes?: Spread }
  readonly skipped: Readonly<Record<string, string>>
  readonly target?: AliveTarget
}

/** The resident bytes below which the pages that the engine keeps make growth meaningless. */
const MEMORY_NOISE = 4 * 2 ** 20

export function aliveResultOf({ task, contestant, samples, skipped }: AliveSeries): AliveResult {
  const rounds = Math.max(0, ...[...samples.values()].map((list) => list.length))
  const ofRound = (round: number): ObjectSample[] => [...samples.values()].flatMap((list) => list[round] ?? [])
  const time = exponents(rounds, (round) =>
    ofRound(round).map(({ alive, life }) => ({ count: alive, total: life * alive })),
  )
  const bytes = exponents(rounds, (round) =>
    ofRound(round).flatMap(({ alive, memory }) =>
      memory && memory.filled - memory.start >= MEMORY_NOISE
        ? [{ count: alive, total: memory.filled - memory.start }]
        : [],
    ),
  )
  return {
    package: task.package,
    name: task.row.name,
    isPeer: task.row.isPeer ?? false,
    runtime: contestant.name,
    isNumpy: contestant.isNumpy,
    counts: [...samples].toSorted(([a], [b]) => a - b).map(([alive, list]) => countResultOf(alive, list)),
    ...(time && { growth: { time, ...(bytes && { bytes }) } }),
    skipped: Object.fromEntries(skipped),
    ...(task.row.target && { target: task.row.target }),
  }
}

function exponents(rounds: number, pointsOf: (round: number) => Point[]): Spread | undefined {
  const values = Array.from({ length: rounds }, (_, round) => growthOf(pointsOf(round)))
  const found = values.filter((value) => value !== undefined)
  return found.length === 0 ? undefined : spreadOf(found)
}

function countResultOf(alive: number, samples: readonly ObjectSample[]): CountResult {
  const memory = samples.flatMap((sample) => sample.memory ?? [])
  const each = (of: (sample: MemorySample) => number): Spread => spreadOf(memory.map((sample) => of(sample) / alive))
  return {
    alive,
    life: spreadOf(samples.map(({ life }) => life)),
    make: spreadOf(samples.map(({ make }) => make)),
    ...(memory.length > 0 && {
      memory: {
        bytes: each(({ filled, start }) => filled - start),
        heap: each(({ heap }) => heap),
        external: each(({ external }) => external),
        after: spreadOf(memory.map(({ ended, start }) => ended / start)),
        leak: spreadOf(memory.map(({ leak }) => leak)),
      },
    }),
    processes: samples.length,
  }
}

/**
 * Describes the rows of Node.js that grow faster than {@link MOST_GROWTH} in most rounds, and faster than the peer of their
 * target. Peers are left out.
 */
export function growing(results: readonly AliveResult[]): string[] {
  return results.flatMap((result) => {
    if (result.isPeer || result.isNumpy || result.growth === undefined) return []
    const { time, bytes } = result.growth
    const peer = otherRow(results, result, result.target?.growth)?.growth?.time.high ?? 0
    return [
      ...(time.low > Math.max(MOST_GROWTH, peer) ? [describeGrowth(result, 'time', time.median)] : []),
      ...(bytes && bytes.low > MOST_GROWTH ? [describeGrowth(result, 'memory', bytes.median)] : []),
    ]
  })
}

function describeGrowth(result: AliveResult, kind: string, exponent: number): string {
  return `${label(result)}: the ${kind} must grow with an exponent of at most ${MOST_GROWTH}, got ${exponent.toFixed(2)}`
}

/** Returns another row of the same package on the same runtime. */
function otherRow(results: readonly AliveResult[], of: AliveResult, name: string | undefined): AliveResult | undefined {
  return results.find((other) => other.name === name && other.package === of.package && other.runtime === of.runtime)
}

/** Describes the targets that most processes miss. */
export function missedTargets(results: readonly AliveResult[]): string[] {
  return results
    .filter(({ isNumpy }) => !isNumpy)
    .flatMap((result) => [...missedBytes(result), ...missedRatios(result, results)])
}

function missedBytes(result: AliveResult): string[] {
  const most = result.target?.bytes
  const bytes = result.counts.find(({ alive }) => alive === MANY_ALIVE)?.memory?.bytes
  if (most === undefined || bytes === undefined || bytes.low <= most) return []
  return [`${label(result)}: an object has ${bytes.median.toFixed(0)} resident bytes, at most ${most}`]
}

function missedRatios(result: AliveResult, results: readonly AliveResult[]): string[] {
  const { ratio = {}, numpy } = result.target ?? {}
  const wanted = Object.entries(ratio).map(([name, most]) => ({ most, other: otherRow(results, result, name), name }))
  if (numpy !== undefined) {
    const other = results.find(
      ({ isNumpy, name, package: of }) => isNumpy && name === result.name && of === result.package,
    )
    if (other) wanted.push({ most: numpy, other, name: 'NumPy' })
  }
  return wanted.flatMap(({ most, other, name }) => {
    const [ours, theirs] = [one(result), other && one(other)]
    if (ours === undefined || theirs === undefined || ours.low / theirs.high <= most) return []
    return [
      `${label(result)}: takes ${(ours.median / theirs.median).toFixed(2)} times as long as ${name}, at most ${most}`,
    ]
  })
}

function one(result: AliveResult): Spread | undefined {
  return result.counts.find(({ alive }) => alive === 1)?.life
}

function label({ package: name, name: row, runtime }: AliveResult): string {
  return `${name}: ${row} on ${runtime}`
}
