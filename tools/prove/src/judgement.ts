import type { RowResult } from '@tenon/bench'
import { isTenon } from './contestant.ts'
import type { InstallSize } from './install-size.ts'
import type { Line } from './line.ts'
import { knownLosses } from './known-losses.ts'
import { distance, type Finding } from './verdict.ts'

/** A line in which Tenon is farther from what is expected than it should be. */
export interface Loss {
  readonly finding: Finding
  /** The rivals that do better. */
  readonly better: readonly string[]
}

/** Whether a contestant was tried in a line. */
const wasTried = ({ verdict }: Finding): boolean => verdict !== 'not offered' && verdict !== 'not loaded'

/** Returns the lines in which Tenon does not do what is expected, those first in which most rivals do. */
export function lossesAmong(findings: readonly Finding[], lines: readonly Line[]): Loss[] {
  return findings
    .filter(({ contestant }) => isTenon(contestant))
    .flatMap((finding) => {
      const line = lines.find(({ name }) => name === finding.line)!
      const own = distance(line, finding.verdict)
      const better = findings
        .filter((other) => other.line === line.name && wasTried(other) && distance(line, other.verdict) < own)
        .map(({ contestant }) => contestant)
      return own === 0 ? [] : [{ finding, better }]
    })
    .toSorted((a, b) => b.better.length - a.better.length)
}

/** Returns a sentence for each loss that the list does not have, and for each of the list that was tried and is none. */
export function surprises(findings: readonly Finding[], losses: readonly Loss[]): string[] {
  const isKnown = ({ line, contestant }: Finding): boolean =>
    knownLosses.some((known) => known.line === line && known.contestant === contestant)
  const isLost = (finding: Finding): boolean => losses.some((loss) => loss.finding === finding)
  return findings
    .filter(({ contestant }) => isTenon(contestant))
    .flatMap((finding) => {
      const { line, contestant, verdict, seen } = finding
      if (isLost(finding) === isKnown(finding)) return []
      const place = `${line}/${contestant}: ${verdict}`
      return [isLost(finding) ? `${place}: ${seen}` : `${place}, so it does not belong to src/known-losses.ts`]
    })
}

/** Returns the rivals that take less space than Tenon, the smallest first. */
export function smallerThanTenon(sizes: Readonly<Record<string, InstallSize>>): string[] {
  const own = sizes['tenon']
  if (own === undefined) return []
  return Object.keys(sizes)
    .filter((name) => sizes[name]!.bytes < own.bytes)
    .toSorted((a, b) => sizes[a]!.bytes - sizes[b]!.bytes)
}

/** A row of a speed in which a rival is faster: three quarters of the rounds say so. */
export interface SlowRow {
  readonly row: RowResult
  readonly rival: string
}

/** The quotient of the quartiles of a ratio from which it counts as noisy. */
const NOISY = 1.5

/** Returns the comparisons whose quartiles are far apart, by the name of their row. */
export function noisyRowsAmong(results: readonly RowResult[]): string[] {
  const isNoisy = ({ quartiles }: RowResult, rival: string): boolean => {
    const [low, high] = quartiles.ratios[rival]!
    return high > NOISY * low
  }
  return results.flatMap((row) =>
    Object.keys(row.ratios)
      .filter((rival) => isNoisy(row, rival))
      .map((rival) => `${row.name}/${rival}`),
  )
}

/** Returns the speeds that Tenon loses, the largest ratio first. */
export function slowRowsAmong(results: readonly RowResult[]): SlowRow[] {
  return results
    .flatMap((row) => Object.keys(row.ratios).map((rival) => ({ row, rival })))
    .filter(({ row, rival }) => !rival.endsWith(' alone') && row.quartiles.ratios[rival]![0] > 1)
    .toSorted((a, b) => b.row.ratios[b.rival]! - a.row.ratios[a.rival]!)
}
