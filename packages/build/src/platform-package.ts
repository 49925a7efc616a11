import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

import type { Artifact } from './build.ts'
import { ToolError } from './tool-error.ts'
import type { LoadedPackage } from './load-package.ts'
import { hostPlatform, type Platform } from './platform.ts'
import { isShipped } from './targets.ts'

/** The directory of the libraries in the package of a platform. @throws {ToolError} without a package for this platform. */
function libraryDirectory(pkg: LoadedPackage, platform: Platform): string {
  if (!pkg.native.platformPackages) throw new ToolError(`${pkg.name} has no platform packages`)
  const platformPackage = join(pkg.directory, pkg.native.platformPackages, platform.name)
  if (!existsSync(join(platformPackage, 'package.json'))) {
    throw new ToolError(
      `${pkg.name} has no platform package for ${platform.name}: ${platformPackage} has no package.json`,
    )
  }
  return join(platformPackage, 'lib')
}

/** Removes the libraries from the package of a platform. @throws {ToolError} without a package for this platform. */
export function emptyPlatformPackage(pkg: LoadedPackage, platform: Platform): void {
  rmSync(libraryDirectory(pkg, platform), { recursive: true, force: true })
}

/** Omits libraries for tests, and writes `SHA256SUMS.json`. @throws {ToolError} without a package for this platform. */
export function fillPlatformPackage(
  pkg: LoadedPackage,
  artifacts: readonly Artifact[],
  platform: Platform = hostPlatform,
): string {
  emptyPlatformPackage(pkg, platform)
  const directory = libraryDirectory(pkg, platform)
  mkdirSync(directory)
  const sums: Record<string, string> = {}
  for (const { target, path } of artifacts) {
    if (!isShipped(target) || target.fixture) continue
    copyFileSync(path, join(directory, basename(path)))
    sums[basename(path)] = createHash('sha256').update(readFileSync(path)).digest('hex')
  }
  writeFileSync(join(directory, 'SHA256SUMS.json'), `${JSON.stringify(sums, null, 2)}\n`)
  return directory
}
