import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

import type { Artifact } from '../build.ts'
import type { LoadedPackage } from '../load-package.ts'
import { hostPlatform, type Platform } from '../platform.ts'
import { isShipped } from '../targets.ts'
import { ToolError } from '../tool-error.ts'
import type { Manifest } from './npm-package.ts'

/** The file with the SHA-256 digests of the libraries of a platform package. */
export const digestsPath = 'lib/SHA256SUMS.json'

/** The SHA-256 digest of bytes in hexadecimal digits. */
export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** The fields by which package managers choose the package of a platform. */
export const platformFields = ({ os, cpu, libc }: Platform): Manifest => ({
  os: [os],
  cpu: [cpu],
  libc: libc && [libc === 'gnu' ? 'glibc' : libc],
})

/**
 * Copies libraries to the folder `lib` of a package, with the list of their digests.
 *
 * @param libraries the path of each library, by the name of its file in the package
 */
export function writeLibraries(directory: string, libraries: Readonly<Record<string, string>>): void {
  mkdirSync(join(directory, 'lib'), { recursive: true })
  for (const [file, path] of Object.entries(libraries)) copyFileSync(path, join(directory, 'lib', file))
  const digests = Object.fromEntries(
    Object.entries(libraries).map(([file, path]) => [file, sha256(readFileSync(path))]),
  )
  writeFileSync(join(directory, digestsPath), `${JSON.stringify(digests, null, 2)}\n`)
}

/** The package of a platform. @throws {ToolError} if there is none */
function platformDirectory({ name, directory, native }: LoadedPackage, platform: Platform): string {
  if (!native.platformPackages) throw new ToolError(`${name} has no platform packages`)
  const found = join(directory, native.platformPackages, platform.name)
  if (existsSync(join(found, 'package.json'))) return found
  throw new ToolError(`${name} has no platform package for ${platform.name}: ${found} has no package.json`)
}

/** Removes the libraries from the package of a platform. @throws {ToolError} without a package for this platform. */
export function emptyPlatformPackage(pkg: LoadedPackage, platform: Platform): void {
  rmSync(join(platformDirectory(pkg, platform), 'lib'), { recursive: true, force: true })
}

/** Omits libraries for tests, and writes their digests. @throws {ToolError} without a package for this platform. */
export function fillPlatformPackage(
  pkg: LoadedPackage,
  artifacts: readonly Artifact[],
  platform: Platform = hostPlatform,
): string {
  emptyPlatformPackage(pkg, platform)
  const directory = platformDirectory(pkg, platform)
  const shipped = artifacts.filter(({ target }) => isShipped(target) && !target.fixture)
  writeLibraries(directory, Object.fromEntries(shipped.map(({ path }) => [basename(path), path])))
  return join(directory, 'lib')
}
