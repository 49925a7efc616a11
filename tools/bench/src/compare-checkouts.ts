import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'

import { root, shown } from './bench-files.ts'
import type { Plan } from './measure.ts'
import { runFile } from './run-file.ts'
import { spreadOf, type Spread } from './statistics.ts'
import { align, formatRatio } from './table.ts'
import { timeText } from './units.ts'

/** The number of processes of each checkout. Three quarters of the pairs must agree before a row is called slower. */
export const PAIRS = 5

/** The smallest change that is named. The same code differs by as much from one build to the next. */
const LEAST_CHANGE = 1.03

export interface CompareOptions {
  /** Bench files of this checkout. */
  readonly files: readonly string[]
  /** The root of this checkout, if it is not the one of this module. */
  readonly own?: string
  /** The root of the checkout to compare with, which is built. */
  readonly other: string
  readonly node: string
  readonly plan: Plan
  readonly rows?: readonly string[] | undefined
  readonly fromSource: boolean
  /** Receives a line of progress. */
  readonly progress: (line: string) => void
}

/** A row in both checkouts. */
export interface Change {
  readonly package: string
  readonly name: string
  /** The medians of the processes, in nanoseconds of one iteration. */
  readonly before: number
  readonly after: number
  /** The ratios after / before of processes that ran one after the other. */
  readonly ratio: Spread
  readonly verdict: 'slower' | 'faster' | 'same'
}

export interface Comparison {
  readonly changes: readonly Change[]
  /** Files and rows that only one checkout has. */
  readonly unmatched: readonly string[]
  readonly failures: readonly string[]
}

/**
 * Measures bench files of two checkouts. Processes of the two take turns, so that a change of the machine affects both. Rows that seem to
 * be slower or faster are measured again, and count only if they are so in all pairs together.
 */
export async function compareCheckouts(options: CompareOptions): Promise<Comparison> {
  const changes: Change[] = []
  const unmatched: string[] = []
  const failures: string[] = []
  for (const file of options.files) {
    const there = join(options.other, relative(options.own ?? root, file))
    if (!existsSync(there)) {
      unmatched.push(shown(file))
      continue
    }
    options.progress(shown(file))
    const first = await measurePairs(file, there, options, options.rows)
    failures.push(...first.failures)
    for (const [name, sides] of first.rows) if (!isMatched(sides)) unmatched.push(`${shown(file)}: ${name}`)
    const suspects = changesOf(first.rows).filter(({ verdict }) => verdict !== 'same')
    if (suspects.length > 0) {
      const names = suspects.map(({ name }) => name)
      options.progress(`  measuring again: ${names.join(', ')}`)
      const again = await measurePairs(file, there, options, names)
      for (const name of names) {
        const sides = again.rows.get(name)
        if (sides === undefined) continue
        first.rows.get(name)!.before.push(...sides.before)
        first.rows.get(name)!.after.push(...sides.after)
      }
    }
    changes.push(...changesOf(first.rows))
  }
  return { changes, unmatched, failures }
}

/** The medians of the processes of both checkouts for one row. */
interface Sides {
  readonly package: string
  readonly after: number[]
  readonly before: number[]
}

async function measurePairs(
  file: string,
  there: string,
  { node, plan, fromSource }: CompareOptions,
  rows: readonly string[] | undefined,
): Promise<{ readonly rows: Map<string, Sides>; readonly failures: readonly string[] }> {
  const rowsByName = new Map<string, Sides>()
  const failures = new Set<string>()
  const run = (path: string, side: 'after' | 'before'): Promise<void> =>
    runFile(path, { node, plan, fromSource, ...(rows && { rows }) }, (report) => {
      if (report.kind === 'failure') failures.add(`${shown(path)}: ${report.row}: ${report.message}`)
      if (report.kind !== 'samples') return
      const { name, ours, package: owner } = report.samples
      const sides = rowsByName.get(name) ?? { package: owner, after: [], before: [] }
      sides[side].push(spreadOf(ours).median)
      rowsByName.set(name, sides)
    }).catch((error: unknown) => void failures.add((error as Error).message))
  for (let pair = 0; pair < PAIRS; pair++) {
    const sides = [() => run(there, 'before'), () => run(file, 'after')]
    for (const side of pair % 2 === 0 ? sides : sides.toReversed()) await side()
  }
  return { rows: rowsByName, failures: [...failures] }
}

const isMatched = ({ before, after }: Sides): boolean => before.length > 0 && after.length > 0

/** The changes of the rows that both checkouts have. */
const changesOf = (rows: ReadonlyMap<string, Sides>): Change[] =>
  [...rows].filter(([, sides]) => isMatched(sides)).map(([name, sides]) => changeOf(name, sides))

function changeOf(name: string, { package: owner, before, after }: Sides): Change {
  const ratios = after.slice(0, before.length).map((nanoseconds, pair) => nanoseconds / before[pair]!)
  const ratio = spreadOf(ratios)
  const isSlower = ratio.median >= LEAST_CHANGE && ratio.low > 1
  const isFaster = ratio.median <= 1 / LEAST_CHANGE && ratio.high < 1
  return {
    package: owner,
    name,
    before: spreadOf(before).median,
    after: spreadOf(after).median,
    ratio,
    verdict: isSlower ? 'slower' : isFaster ? 'faster' : 'same',
  }
}

/** Formats a comparison as a table, with the rows that are slower and faster named below it. */
export function formatComparison({ changes, unmatched }: Comparison): string {
  const rows = changes.map(({ package: owner, name, before, after, ratio, verdict }) => [
    `${owner}: ${name}`,
    timeText(before),
    timeText(after),
    `x${formatRatio(ratio.median)} (${formatRatio(ratio.low)} to ${formatRatio(ratio.high)})`,
    verdict === 'same' ? '' : verdict,
  ])
  const named = (verdict: Change['verdict']): string[] => {
    const own = changes.filter((change) => change.verdict === verdict)
    return own.map(({ package: owner, name, ratio }) => `${verdict}: ${owner}: ${name}, x${formatRatio(ratio.median)}`)
  }
  const slower = named('slower')
  return [
    align([['row', 'before', 'after', 'after / before', ''], ...rows]),
    '',
    ...(slower.length === 0 ? ['No row is slower beyond its noise.'] : slower),
    ...named('faster'),
    ...unmatched.map((name) => `only in one checkout: ${name}`),
  ].join('\n')
}
