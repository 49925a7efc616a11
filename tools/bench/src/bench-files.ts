import { globSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'

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
  const wanted = packages.map((name) => name.replace(/^@tenon\//, ''))
  const missing = wanted.find((name) => !files.some((file) => ownerOf(file) === name))
  if (missing !== undefined) {
    throw new Error(`${missing} has no bench file: packages that have are ${ownersOf(files).join(', ')}`)
  }
  const chosen = wanted.length === 0 ? files : files.filter((file) => wanted.includes(ownerOf(file)))
  return chosen.map((file) => join(directory, file))
}

/** The directories of the packages that these bench files belong to. */
export function ownersOf(files: readonly string[]): string[] {
  return [...new Set(files.map(ownerOf))]
}

function ownerOf(file: string): string {
  return basename(dirname(dirname(file)))
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
