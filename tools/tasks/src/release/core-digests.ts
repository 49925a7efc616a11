import { basename } from 'node:path'

import { digestsPath as listPath, type NpmPackage, npmPackage, sha256 } from '@tenon/build/internal'

import { fingerprint } from '../../../../packages/core/src/native/fingerprint.ts'

/** The file with the digests of the platform packages, which the core compares with their libraries before it loads them. */
export const coreDigestsPath = 'dist/digests.json'

/** The digests that the core must have of the platform packages that are published with it. */
export function coreDigests(packages: readonly NpmPackage[], core: string): object {
  const ofPlatforms = packages.filter(({ name }) => name.startsWith(`${core}-`))
  return Object.fromEntries(ofPlatforms.map((pkg) => [pkg.name, digestsIn(pkg)]))
}

function digestsIn({ files }: NpmPackage): object {
  const libraries = [...files].filter(([path]) => path.startsWith('lib/') && path !== listPath)
  return Object.fromEntries(
    libraries.map(([path, { bytes }]) => [
      basename(path),
      // The fingerprint reads aligned words, and a small file lies anywhere in a block of Node.js.
      { fingerprint: fingerprint(new Uint8Array(bytes)), sha256: sha256(bytes) },
    ]),
  )
}

/** Writes the digests into the core among the packages. */
export function carryDigests(packages: readonly NpmPackage[], scope: string): NpmPackage[] {
  const core = `${scope}/core`
  const bytes = Buffer.from(`${JSON.stringify(coreDigests(packages, core), undefined, 2)}\n`)
  const digests = [coreDigestsPath, { bytes, executable: false }] as const
  return packages.map((pkg) => (pkg.name === core ? npmPackage(core, new Map([...pkg.files, digests])) : pkg))
}
