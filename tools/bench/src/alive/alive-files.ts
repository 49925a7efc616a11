import { globSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../bench-files.ts'
import type { AliveTask } from './run-alive.ts'
import type { AliveRow, AliveSuite } from './suite.ts'

/** Returns `packages/<name>/bench/alive.ts` of the packages, or of all that have one. @throws {Error} if one is missing. */
export function findAliveFiles(packages: readonly string[], directory: string = root): string[] {
  const files = globSync('packages/*/bench/alive.ts', { cwd: directory }).toSorted()
  const ownerOf = (file: string): string => basename(dirname(dirname(file)))
  const wanted = packages.map((name) => name.replace(/^@tenon\//, ''))
  const missing = wanted.find((name) => !files.some((file) => ownerOf(file) === name))
  if (missing !== undefined) {
    throw new Error(
      `${missing} must have a file bench/alive.ts. The packages with one are ${files.map(ownerOf).join(', ')}.`,
    )
  }
  return files
    .filter((file) => wanted.length === 0 || wanted.includes(ownerOf(file)))
    .map((file) => join(directory, file))
}

/** Imports the suites of files, and selects rows by a text in their names. @throws {Error} for a file without a suite, or with two rows of one name. */
export async function tasksOf(files: readonly string[], text = ''): Promise<AliveTask[]> {
  const tasks: AliveTask[] = []
  for (const file of files) {
    const { suite } = (await import(pathToFileURL(file).href)) as { suite?: AliveSuite }
    if (suite === undefined) throw new Error(`${file} must export a \`suite\``)
    const names = suite.rows.map(({ name }) => name)
    const twice = names.find((name, index) => names.indexOf(name) !== index)
    if (twice !== undefined) throw new Error(`${suite.package} has two rows with the name ${twice}`)
    for (const row of withTargets(suite.rows, text)) tasks.push({ file, package: suite.package, row })
  }
  return tasks
}

/** Selects the rows whose names contain a text, and the rows with which they are compared. */
function withTargets(rows: readonly AliveRow[], text: string): AliveRow[] {
  const named = rows.filter(({ name }) => name.includes(text))
  const others = new Set(named.flatMap(({ target }) => [target?.growth, ...Object.keys(target?.ratio ?? {})]))
  return rows.filter((row) => named.includes(row) || others.has(row.name))
}
