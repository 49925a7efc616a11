import { isDeclarable } from '@tenon/packed-func'

/** The names under which a module exports things, by their full names. */
export interface ExportNames {
  readonly names: ReadonlyMap<string, string>
  /** The full names for which there is no name that a module can export. */
  readonly left: readonly string[]
}

/**
 * Names things by the last part of their full names: `xgrammar.Grammar` is `Grammar`. Where two things would have the same name,
 * both get more parts: `a_Grammar` and `b_Grammar`.
 *
 * @param used names that the module exports already. @param nameOfPart makes a name of one part, as classes are named
 */
export function exportNames(
  all: readonly string[],
  used: Iterable<string>,
  nameOfPart: (part: string) => string = (part) => part,
): ExportNames {
  const taken = new Set(used)
  const counts = new Map(all.map((full) => [full, 1]))
  for (;;) {
    const groups = new Map<string, string[]>()
    for (const full of all) {
      const name = shortName(full, counts.get(full)!, nameOfPart)
      const group = groups.get(name)
      if (group === undefined) groups.set(name, [full])
      else group.push(full)
    }
    const clashing = [...groups].filter(([name, members]) => members.length > 1 || taken.has(name))
    const longer = clashing.flatMap(([, members]) => members).filter((full) => counts.get(full)! < partsOf(full).length)
    if (longer.length === 0) return settle(groups, taken)
    for (const full of longer) counts.set(full, counts.get(full)! + 1)
  }
}

function settle(groups: ReadonlyMap<string, readonly string[]>, taken: ReadonlySet<string>): ExportNames {
  const names = new Map<string, string>()
  const left: string[] = []
  for (const [name, [first, ...others]] of groups) {
    // `await import()` would call a function named `then`. Names with a dollar sign are those of the written files.
    const isFree = isDeclarable(name) && name !== 'then' && !name.includes('$') && !taken.has(name)
    if (isFree) names.set(first!, name)
    else left.push(first!)
    left.push(...others)
  }
  return { names, left }
}

const partsOf = (full: string): string[] => full.split('.')

const shortName = (full: string, count: number, nameOfPart: (part: string) => string): string =>
  partsOf(full).slice(-count).map(nameOfPart).join('_')
