import { isDeepStrictEqual } from 'node:util'

import { digestsOf, digestsPath } from '../carry-digests.ts'
import type { ReleasePackage } from '../release-package.ts'

/** Returns a sentence if the core does not carry the digests of the platform packages that are published with it. */
export function findDigests(packages: readonly ReleasePackage[], scope: string): string[] {
  const core = packages.find(({ name }) => name === `${scope}/core`)
  if (core === undefined) return []
  const text = core.files.get(digestsPath)?.bytes.toString()
  if (text === undefined) return [`${core.name}: must contain ${digestsPath}, with which it compares its libraries`]
  const wanted = digestsOf(packages, core.name)
  return isDeepStrictEqual(parsed(text), wanted)
    ? []
    : [`${core.name}: ${digestsPath} must have the digests of ${Object.keys(wanted).join(', ') || 'no package'}`]
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
