import { globSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'

export const root: string = join(import.meta.dirname, '../../..')

/** Accepts directory names or package names (`scope`, `@tenon/scope`). @throws {Error} if a package has no bench file. */
export function findBenchFiles(packages: readonly string[], directory: string = root): string[] {
  const files = globSync('packages/*/bench/*.bench.ts', { cwd: directory }).toSorted()
  const wanted = packages.map((name) => name.replace(/^@tenon\//, ''))
  const missing = wanted.find((name) => !files.some((file) => ownerOf(file) === name))
  if (missing !== undefined) {
    throw new Error(`${missing} has no bench file. The packages with bench files are ${ownersOf(files).join(', ')}.`)
  }
  const chosen = wanted.length === 0 ? files : files.filter((file) => wanted.includes(ownerOf(file)))
  return chosen.map((file) => join(directory, file))
}

export function ownersOf(files: readonly string[]): string[] {
  return [...new Set(files.map(ownerOf))]
}

function ownerOf(file: string): string {
  return basename(dirname(dirname(file)))
}

/** The path of a file relative to the root, for messages. */
export function shown(file: string): string {
  return relative(root, file)
}

/** Whether a file has the rows of a plot. */
export function isPlotFile(file: string): boolean {
  return file.endsWith('.plot.bench.ts')
}
