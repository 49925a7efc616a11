import { globSync } from 'node:fs'
import { join, relative } from 'node:path'

/** The repository's root directory. */
export const root: string = join(import.meta.dirname, '../../..')

/**
 * The bench files of packages, in the order of their paths.
 *
 * @param packages directory names or package names (`scope`, `@tenon/scope`); all packages if there is none.
 * @throws {Error} if a package has no bench file.
 */
export function findBenchFiles(packages: readonly string[], directory: string = root): string[] {
  const files = globSync('packages/*/bench/*.bench.ts', { cwd: directory }).toSorted()
  const owner = (file: string): string => file.split(/[\\/]/)[1]!
  const wanted = packages.map((name) => name.replace(/^@tenon\//, ''))
  const missing = wanted.find((name) => !files.some((file) => owner(file) === name))
  if (missing !== undefined) {
    const known = [...new Set(files.map(owner))].join(', ')
    throw new Error(`${missing} has no bench file: packages that have are ${known}`)
  }
  const chosen = wanted.length === 0 ? files : files.filter((file) => wanted.includes(owner(file)))
  return chosen.map((file) => join(directory, file))
}

/** The files that measure alternatives to the design itself. */
export function findProbeFiles(): string[] {
  return globSync('*.bench.ts', { cwd: join(root, 'tools/bench/probe') })
    .toSorted()
    .map((file) => join(root, 'tools/bench/probe', file))
}

/** A file's path as messages show it. */
export function shown(file: string): string {
  return relative(root, file)
}
