import { createHash } from 'node:crypto'

import { ToolError } from '@tenon/build'

import type { Manifest, ReleasePackage } from './release-package.ts'

/** A package, and the tarball that is published. */
export interface ReleaseTarball {
  readonly path: string
  readonly bytes: Buffer
  readonly package: ReleasePackage
}

/** The registry to which packages are published. */
export interface ReleaseRegistry {
  /** Returns the digest of the tarball of a version, or undefined if the registry does not have the version. */
  integrityOf(name: string, version: string): Promise<string | undefined>
  /** Publishes a tarball under a tag. @throws {ToolError} if the registry refuses it */
  publish(path: string, tag: string): Promise<void>
  /** Warns those who install a version. @throws {ToolError} if the registry refuses it */
  deprecate(name: string, version: string, message: string): Promise<void>
}

/** The digest by which registries identify a tarball. */
export const integrityOf = (bytes: Uint8Array): string =>
  `sha512-${createHash('sha512').update(bytes).digest('base64')}`

/** The packages whose libraries others need come first, and the umbrella, which most users install, when all others are there. */
const rankOf = ({ name, manifest }: ReleasePackage): number => {
  if (manifest['os'] !== undefined) return 0
  return name === 'tenon' ? 2 : 1
}

/** Sorts packages so that each is published after those that it depends on, platform packages first and the umbrella last. */
export function publishOrder(tarballs: readonly ReleaseTarball[]): ReleaseTarball[] {
  const ordered: ReleaseTarball[] = []
  const visit = (tarball: ReleaseTarball): void => {
    if (ordered.includes(tarball)) return
    const { dependencies = {}, optionalDependencies = {} } = tarball.package.manifest as Record<string, Manifest>
    const names = Object.keys({ ...dependencies, ...optionalDependencies })
    const rank = rankOf(tarball.package)
    for (const other of tarballs) {
      if (names.includes(other.package.name) && rankOf(other.package) <= rank) visit(other)
    }
    ordered.push(tarball)
  }
  for (const rank of [0, 1, 2]) tarballs.filter((one) => rankOf(one.package) === rank).forEach(visit)
  return ordered
}

/**
 * Publishes tarballs in their order. A version that the registry has with the same bytes is skipped, so that a run that was interrupted
 * can be repeated.
 *
 * @returns what was published now
 * @throws {ToolError} before anything is published, if the registry has other bytes under a version
 */
export async function publishRelease(
  tarballs: readonly ReleaseTarball[],
  registry: ReleaseRegistry,
  tell: (line: string) => void,
): Promise<ReleaseTarball[]> {
  const fresh: ReleaseTarball[] = []
  for (const tarball of publishOrder(tarballs)) {
    const { name, version } = tarball.package
    const known = await registry.integrityOf(name, version)
    const own = integrityOf(tarball.bytes)
    if (known === undefined) fresh.push(tarball)
    else if (known === own) tell(`${name}@${version} is published already`)
    else throw new ToolError(`the registry has ${name}@${version} with other contents: ${known}, not ${own}`)
  }
  for (const { path, package: pkg } of fresh) {
    tell(`publishing ${pkg.name}@${pkg.version}`)
    await registry.publish(path, pkg.version.includes('-') ? 'next' : 'latest')
  }
  return fresh
}
