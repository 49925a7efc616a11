import { existsSync, globSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

import { inPublishOrder, type NpmPackage, readPackage, runCommand, ToolError } from '@tenon/build/internal'

/** A package as it would be published, and the absolute path of its tarball or folder. */
export interface ReleasePackage extends NpmPackage {
  readonly path: string
}

/**
 * Reads packages from tarballs, from folders of tarballs, and from folders of unpacked packages, each after those on which it depends.
 *
 * @throws {ToolError} if a path has none of these, or one is damaged
 */
export async function readReleasePackages(paths: readonly string[]): Promise<ReleasePackage[]> {
  const packages: ReleasePackage[] = []
  for (const path of paths.flatMap(findPackages)) {
    packages.push(statSync(path).isDirectory() ? { ...readPackage(path), path } : await readTarball(path))
  }
  return inPublishOrder(packages)
}

function findPackages(given: string): string[] {
  const path = resolve(given)
  if (!existsSync(path)) throw new ToolError(`${given} does not exist`)
  if (!statSync(path).isDirectory() || existsSync(join(path, 'package.json'))) return [path]
  const tarballs = globSync('*.tgz', { cwd: path }).toSorted()
  if (tarballs.length === 0)
    throw new ToolError(`${given} must be a package, or contain the tarballs of pnpm release:pack`)
  return tarballs.map((file) => join(path, file))
}

/** Reads the tarball of an npm package. @throws {ToolError} if it is damaged */
export async function readTarball(path: string): Promise<ReleasePackage> {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-tarball-'))
  try {
    const result = await runCommand('tar', ['-xzf', path, '--strip-components=1', '-C', directory])
    if (result.code !== 0) throw new ToolError(`${path} is not the tarball of a package:\n${result.stderr}`)
    return { ...readPackage(directory), path }
  } finally {
    rmSync(directory, { recursive: true })
  }
}
