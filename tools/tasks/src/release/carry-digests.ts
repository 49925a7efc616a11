import { createHash } from 'node:crypto'
import { posix } from 'node:path'

import { fingerprint } from '../../../../packages/core/src/native/fingerprint.ts'
import { type ReleasePackage, withFiles } from './release-package.ts'

/** Where the core looks for the digests of its platform packages. */
export const digestsPath = 'dist/digests.json'

/** Writes the digests of all platform packages into the core, which compares their files with them before it loads them. */
export function carryDigests(packages: readonly ReleasePackage[], scope: string): ReleasePackage[] {
  const core = `${scope}/core`
  const digests = `${JSON.stringify(digestsOf(packages, core), undefined, 2)}\n`
  return packages.map((pkg) => (pkg.name === core ? withFiles(pkg, { [digestsPath]: digests }) : pkg))
}

/** The digests that the core must have. */
export function digestsOf(packages: readonly ReleasePackage[], core: string): Record<string, object> {
  const ofPlatforms = packages.filter(({ name }) => name.startsWith(`${core}-`))
  return Object.fromEntries(ofPlatforms.map((pkg) => [pkg.name, digestsIn(pkg)]))
}

function digestsIn({ files }: ReleasePackage): object {
  const libraries = [...files].filter(([path]) => path.startsWith('lib/') && !path.endsWith('.json'))
  return Object.fromEntries(
    libraries.map(([path, { bytes }]) => {
      // What is read from a file is aligned, and a part of a tarball may not be.
      const aligned = new Uint8Array(bytes)
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      return [posix.basename(path), { fingerprint: fingerprint(aligned), sha256 }]
    }),
  )
}
