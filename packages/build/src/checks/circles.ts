import { hostPlatform } from '../platform.ts'
import { runCommand } from '../run-command.ts'
import { ToolError } from '../tool-error.ts'

/** The global symbols of an object file. */
export interface ObjectSymbols {
  /** The source file, relative to the package. */
  readonly source: string
  readonly defined: readonly string[]
  readonly used: readonly string[]
}

/** Returns each group of files that can all reach each other, sorted. */
export function findCircles(objects: readonly ObjectSymbols[]): string[][] {
  const definedBy = new Map(objects.flatMap(({ source, defined }) => defined.map((name) => [name, source] as const)))
  const uses = new Map(
    objects.map(({ source, used }) => {
      const others = used.flatMap((name) => definedBy.get(name) ?? []).filter((other) => other !== source)
      return [source, others] as const
    }),
  )
  const reachable = new Map(objects.map(({ source }) => [source, reach(source, uses)] as const))
  const groups = objects.flatMap(({ source }) => {
    const group = [...reachable.get(source)!].filter((other) => reachable.get(other)!.has(source)).toSorted()
    return group[0] === source ? [group] : []
  })
  return groups.filter((group) => group.length > 1)
}

/** The files that a file uses, directly or through others; itself only if it is part of a circle. */
function reach(start: string, uses: ReadonlyMap<string, readonly string[]>): Set<string> {
  const seen = new Set<string>()
  const waiting = [...(uses.get(start) ?? [])]
  for (let source = waiting.pop(); source !== undefined; source = waiting.pop()) {
    if (seen.has(source)) continue
    seen.add(source)
    waiting.push(...(uses.get(source) ?? []))
  }
  return seen
}

/** Runs on Linux only, because it needs the `nm` of Linux. @throws {ToolError} that names the files of each circle. */
export async function checkCircles(library: string, objects: ReadonlyMap<string, string>): Promise<void> {
  if (hostPlatform.os !== 'linux') return
  const symbols = await Promise.all(
    Array.from(objects, async ([source, path]) => ({ source, ...(await listSymbols(path)) })),
  )
  const circles = findCircles(symbols)
  if (circles.length === 0) return
  const lines = circles.map((circle) => `\n  ${circle.join(', ')}`)
  throw new ToolError(`Files of ${library} use each other in a circle:${lines.join('')}`)
}

/** Lists the global symbols of an object file. */
async function listSymbols(path: string): Promise<{ used: string[]; defined: string[] }> {
  const result = await runCommand('nm', ['-g', '-P', path], { env: { ...process.env, LC_ALL: 'C' } })
  if (result.code !== 0) throw new ToolError(`nm -g -P ${path} failed:\n${result.stderr}`)
  const [used, defined]: [string[], string[]] = [[], []]
  for (const [, name, type] of result.stdout.matchAll(/^([^ @]+)\S* (\S)/gm)) {
    const list = /[Uvw]/.test(type!) ? used : defined
    list.push(name!)
  }
  return { used, defined }
}
