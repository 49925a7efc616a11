import { dirname } from 'node:path'

/** The part of Stryker's report that is read: mutation-testing-report-schema 1.0. */
export interface StrykerReport {
  readonly files: Readonly<Record<string, { readonly source: string; readonly mutants: readonly StrykerMutant[] }>>
}

interface Position {
  /** Counts from 1. */
  readonly line: number
  readonly column: number
}

interface StrykerMutant {
  readonly mutatorName: string
  readonly replacement?: string
  readonly status: string
  readonly statusReason?: string
  readonly location: { readonly start: Position; readonly end: Position }
}

/** Outcomes of mutants, in the order of the columns of a report. */
export const OUTCOMES = [
  'killed',
  'timeout',
  'survived',
  'no coverage',
  'equivalent',
  'at load',
  'not measured',
] as const

export type MutantOutcome = (typeof OUTCOMES)[number]

export interface MutantResult {
  /** Relative to the repository. */
  readonly file: string
  readonly line: number
  /** The line of the source, without indentation. */
  readonly text: string
  readonly mutator: string
  /** What the mutant replaces, on one line. */
  readonly code: string
  readonly mutant: string
  readonly outcome: MutantOutcome
}

export type Counts = Readonly<Record<MutantOutcome, number>>

const outcomes: Readonly<Record<string, MutantOutcome>> = {
  Killed: 'killed',
  Timeout: 'timeout',
  Survived: 'survived',
  NoCoverage: 'no coverage',
}

/** Whether Stryker leaves a mutant out because its code runs only while the modules load. */
export const isOfLoading = (reason: string | undefined): boolean => reason?.startsWith('Static mutant') ?? false

/** Reads what was measured of a package. Mutants that are left out by a rule are no part of it. @param directory relative to the repository */
export function readResults({ files }: StrykerReport, directory: string): MutantResult[] {
  return Object.entries(files).flatMap(([name, { source, mutants }]) => {
    const lines = source.split('\n')
    return mutants.flatMap((mutant) => {
      const outcome = outcomes[mutant.status] ?? (isOfLoading(mutant.statusReason) ? 'at load' : undefined)
      if (outcome === undefined) return []
      const { start, end } = mutant.location
      return [
        {
          file: `${directory}/${name}`,
          line: start.line,
          text: lines[start.line - 1]!.trim(),
          mutator: mutant.mutatorName,
          code: oneLine(textBetween(lines, start, end)),
          mutant: oneLine(mutant.replacement ?? ''),
          outcome,
        },
      ]
    })
  })
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

function textBetween(lines: readonly string[], start: Position, end: Position): string {
  const part = lines.slice(start.line - 1, end.line)
  part[part.length - 1] = part.at(-1)!.slice(0, end.column - 1)
  part[0] = part[0]!.slice(start.column - 1)
  return part.join('\n')
}

/** A mutant that changes nothing that a test could see. */
export interface EquivalentMutant {
  readonly file: string
  /** As in {@link MutantResult}. */
  readonly text: string
  /** Left out if all mutants of the line that survive are equivalent, as where a condition only selects the faster of two ways. */
  readonly code?: string
  readonly mutant?: string
  readonly reason: string
}

/**
 * Marks the mutants of a list as equivalent, and returns a line for each entry that is wrong: it matches no mutant of the files that were measured,
 * or tests kill what it matches.
 */
export function markEquivalent(
  results: readonly MutantResult[],
  equivalents: readonly EquivalentMutant[],
): { results: MutantResult[]; faults: string[] } {
  const isOf = ({ file, text, code, mutant }: EquivalentMutant, result: MutantResult): boolean =>
    result.file === file &&
    result.text === text &&
    (code === undefined || result.code === code) &&
    (mutant === undefined || result.mutant === mutant)
  const hasSurvived = ({ outcome }: MutantResult): boolean => outcome === 'survived' || outcome === 'no coverage'
  const measured = new Set(results.map(({ file }) => file))
  const faults = equivalents.flatMap((entry) => {
    const { file, text, code = 'code', mutant = 'something' } = entry
    if (!measured.has(file)) return []
    const matches = results.filter((result) => isOf(entry, result))
    if (matches.length === 0) return [`${file}: no mutant replaces ${code} with ${mutant} in ${text}`]
    return matches.some(hasSurvived) ? [] : [`${file}: a test tells ${mutant} from ${code} in ${text}`]
  })
  const marked = results.map((result) =>
    hasSurvived(result) && equivalents.some((entry) => isOf(entry, result))
      ? { ...result, outcome: 'equivalent' as const }
      : result,
  )
  return { results: marked, faults }
}

/**
 * Counts outcomes by folder: those directly below `src`.
 *
 * @param planned how many mutants each file has, with those that the run did not reach.
 */
export function countByFolder(
  results: readonly MutantResult[],
  planned: Readonly<Record<string, number>>,
): Map<string, Counts> {
  const folders = new Map<string, Record<MutantOutcome, number>>()
  const at = (file: string): Record<MutantOutcome, number> => {
    const folder = /^(?:.*\/src\/[^/]+(?=\/))/.exec(file)?.[0] ?? dirname(file)
    const counts =
      folders.get(folder) ?? (Object.fromEntries(OUTCOMES.map((name) => [name, 0])) as Record<MutantOutcome, number>)
    folders.set(folder, counts)
    return counts
  }
  const left = new Map(Object.entries(planned))
  for (const { file, outcome } of results) {
    at(file)[outcome]++
    if (left.has(file)) left.set(file, left.get(file)! - 1)
  }
  for (const [file, count] of left) if (count > 0) at(file)['not measured'] += count
  return new Map([...folders].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** The share of mutants that tests tell from the code, rounded down to whole percents; undefined if none was measured. */
export function killedShare(counts: Counts): number | undefined {
  const killed = counts.killed + counts.timeout
  const all = killed + counts.survived + counts['no coverage']
  return all === 0 ? undefined : Math.floor((100 * killed) / all)
}
