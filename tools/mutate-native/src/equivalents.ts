import { ToolError } from '@tenon/build'

import { type Mutant, mutantKey } from './mutant.ts'

/** Mutants that behave like the code, as far as a test could see, with the reason. */
export interface EquivalentMutants {
  readonly file: string
  readonly function: string
  readonly from: string
  /** The changes of `from`: one, or several with the same reason. */
  readonly to: string | readonly string[]
  /** The number among the places of the function with the same code, if there are several. By default all of them. */
  readonly occurrence?: number
  readonly reason: string
}

/**
 * Returns the reasons of the equivalent mutants, by their keys.
 *
 * @param files that were searched for mutants. Entries of other files are left out.
 * @throws {ToolError} with the entries that no mutant matches.
 */
export function equivalentReasons(
  entries: readonly EquivalentMutants[],
  mutants: readonly Mutant[],
  files: ReadonlySet<string>,
): Map<string, string> {
  const reasons = new Map<string, string>()
  const unmatched: string[] = []
  for (const entry of entries.filter(({ file }) => files.has(file))) {
    for (const to of [entry.to].flat()) {
      const matching = mutants.filter((mutant) => matches(entry, to, mutant))
      if (matching.length === 0) unmatched.push(`${entry.file} ${entry.function}: ${entry.from} -> ${to || 'nothing'}`)
      for (const mutant of matching) reasons.set(mutantKey(mutant), entry.reason)
    }
  }
  if (unmatched.length > 0)
    throw new ToolError(`equivalent mutants that do not exist any more:\n${unmatched.join('\n')}`)
  return reasons
}

function matches(entry: EquivalentMutants, to: string, mutant: Mutant): boolean {
  return (
    mutant.file === entry.file &&
    mutant.function === entry.function &&
    mutant.from === entry.from &&
    mutant.to === to &&
    (entry.occurrence ?? mutant.occurrence) === mutant.occurrence
  )
}
