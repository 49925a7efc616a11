import { posix } from 'node:path'

import { hostPlatform } from '../platform.ts'
import { runCommand } from '../run-command.ts'
import { ToolError } from '../tool-error.ts'
import { type CFile, isHeader, listIncludes, readHeaders } from './c-files.ts'
import { findUpwardUses, type Topics } from './topics.ts'

/**
 * Returns each group of files that can all reach each other, sorted. A file reaches those that it includes, and those that define a symbol that
 * it uses. A source and the header of its name that it includes are one file.
 */
export function findCircles(files: readonly CFile[]): string[][] {
  const unitOf = joinHeaders(files)
  const definedBy = new Map(
    files.flatMap(({ path, defined }) => defined.map((name) => [name, unitOf.get(path)!] as const)),
  )
  const uses = new Map<string, Set<string>>()
  for (const { path, includes, used } of files) {
    const unit = unitOf.get(path)!
    const others = uses.get(unit) ?? new Set()
    for (const include of includes) others.add(unitOf.get(include) ?? include)
    for (const name of used) if (definedBy.has(name)) others.add(definedBy.get(name)!)
    others.delete(unit)
    uses.set(unit, others)
  }
  const units = [...uses.keys()].toSorted()
  const reachable = new Map(units.map((unit) => [unit, reach(unit, uses)] as const))
  const groups = units.flatMap((unit) => {
    const group = [...reachable.get(unit)!].filter((other) => reachable.get(other)?.has(unit)).toSorted()
    return group[0] === unit ? [group] : []
  })
  return groups.filter((group) => group.length > 1)
}

/** Maps each file to the name of its unit: that of a header if sources of its name include it, otherwise its own. */
function joinHeaders(files: readonly CFile[]): Map<string, string> {
  const stem = (path: string): string => posix.basename(path, posix.extname(path))
  return new Map(
    files.map(({ path, includes }) => {
      const own = isHeader(path)
        ? undefined
        : includes.find((include) => isHeader(include) && stem(include) === stem(path))
      return [path, own ?? path] as const
    }),
  )
}

/** The files that a file uses, directly or through others; itself only if it is part of a circle. */
function reach(start: string, uses: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const seen = new Set<string>()
  const waiting = [...(uses.get(start) ?? [])]
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (seen.has(file)) continue
    seen.add(file)
    waiting.push(...(uses.get(file) ?? []))
  }
  return seen
}

/** The built objects of a library. */
export interface LibraryObjects {
  readonly name: string
  /** The directory of the package. */
  readonly directory: string
  /** The paths of the objects by their sources. */
  readonly objects: ReadonlyMap<string, string>
  /** The directories for `#include`. */
  readonly includes: readonly string[]
}

/**
 * Refuses circles of files, and uses of symbols from higher topics. Runs on Linux only, because it needs the `nm` of Linux.
 *
 * @throws {ToolError} that names the files
 */
export async function checkLibraryFiles(library: LibraryObjects, topics: Topics | undefined): Promise<void> {
  if (hostPlatform.os !== 'linux') return
  const { name, directory, includes } = library
  const symbols = await listSymbols([...library.objects.values()])
  const sources = Array.from(library.objects, ([path, object]) => ({
    path,
    includes: listIncludes(directory, path, includes),
    ...symbols.get(object)!,
  }))
  const circles = findCircles([...sources, ...readHeaders(directory, sources, includes)])
  if (circles.length > 0) {
    const lines = circles.map((circle) => `\n  ${circle.join(', ')}`)
    throw new ToolError(`Files of ${name} use each other in a circle:${lines.join('')}`)
  }
  const problems = topics === undefined ? [] : findUpwardUses(sources, topics)
  if (problems.length > 0) throw new ToolError(problems.join('\n'))
}

/** The global symbols of an object file. */
interface ObjectSymbols {
  readonly used: string[]
  readonly defined: string[]
}

/** Lists the global symbols of object files by their paths. One process reads all, because each loads the plugins of the linker first. */
async function listSymbols(paths: readonly string[]): Promise<ReadonlyMap<string, ObjectSymbols>> {
  const symbols = new Map<string, ObjectSymbols>(paths.map((path) => [path, { used: [], defined: [] }]))
  const result = await runCommand('nm', ['-A', '-g', '-P', ...paths], { env: { ...process.env, LC_ALL: 'C' } })
  if (result.code !== 0) throw new ToolError(`nm -A -g -P of ${paths.join(', ')} failed:\n${result.stderr}`)
  for (const [, path, name, type] of result.stdout.matchAll(/^(.+?): ([^ @]+)\S* (\S)/gm)) {
    const { used, defined } = symbols.get(path!)!
    const list = /[Uvw]/.test(type!) ? used : defined
    list.push(name!)
  }
  return symbols
}
