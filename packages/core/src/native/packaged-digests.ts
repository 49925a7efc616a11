import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { LoadError } from '../errors/kinds.ts'
import { fingerprint } from './fingerprint.ts'
import { corePackage } from './locate.ts'

/** The identity of a file. The SHA-256 digest has hexadecimal digits. */
interface Digest {
  readonly fingerprint: string
  readonly sha256: string
}

/** The digests of the files of one platform package. */
export type Digests = Readonly<Record<string, Digest>>

const HINT =
  'Install @tenon/core and its platform package again, in the same version. TENON_CORE_LIBRARY names a library that you built.'

/**
 * Returns the digests with which this package was published, which are in its own `dist`: a list beside the libraries could be changed
 * together with them. The script that packs the packages writes the file.
 *
 * @throws {LoadError} if this package has no digests of the platform package.
 */
export function packagedDigests(platformPackage: string): Digests {
  const { directory, version } = corePackage()
  const path = join(directory, 'dist/digests.json')
  const all = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Record<string, Digests>) : {}
  const digests = all[platformPackage]
  if (digests !== undefined) return digests
  throw new LoadError(`@tenon/core ${version} has no digests of the libraries of ${platformPackage}`, {
    hint: HINT,
    details: { path, package: platformPackage },
  })
}

/**
 * Compares a file with its digest. This detects damage and another version, but nobody who can write to `node_modules`.
 *
 * @throws {LoadError} with both fingerprints if they differ, and for a file without one.
 */
export function checkDigest(path: string, digests: Digests): void {
  const digest = digests[basename(path)]
  const received = fingerprint(readFileSync(path))
  if (digest?.fingerprint === received) return
  // The SHA-256 digest of the file itself would take milliseconds, because node:crypto would have to be loaded.
  const { fingerprint: expected, sha256 } = digest ?? { fingerprint: 'absent', sha256: 'absent' }
  throw new LoadError(
    `${path} is not the file with which @tenon/core ${corePackage().version} was published: ` +
      `its fingerprint must be ${expected}, got ${received}`,
    { hint: HINT, details: { path, expected, received, sha256 } },
  )
}
