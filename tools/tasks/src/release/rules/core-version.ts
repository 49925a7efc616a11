import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { BinaryFormatError, readBinary, readTextConstants } from '../../../../../packages/binary/src/index.ts'

import { CONSTANTS } from '../../../../../packages/core/src/generated/layouts.ts'
import type { ReleasePackage } from '../release-package.ts'

/** The exported constant of the native core with its versions. */
const SYMBOL = 'tn_versions'

/** Returns a sentence for each native core whose versions are not those of the core that is published with it. */
export function findCoreVersions(packages: readonly ReleasePackage[], scope: string): string[] {
  const core = packages.find(({ name }) => name === `${scope}/core`)
  if (core === undefined) return []
  const expected = `version ${core.version}, ABI ${CONSTANTS.TN_ABI_VERSION}`
  return packages
    .filter(({ name }) => name.startsWith(`${core.name}-`))
    .flatMap(({ name, files }) =>
      [...files].flatMap(([path, { bytes }]) => {
        if (!/^lib\/(lib)?tenon\.(so|dylib|dll)$/.test(path)) return []
        const received = versionsIn(bytes)
        // Other rules say so if it cannot be read at all.
        if (received === undefined || received === expected) return []
        return [`${name}: ${path} must be of ${core.name}, ${expected}, got ${received}`]
      }),
    )
}

function versionsIn(bytes: Buffer): string | undefined {
  const temporary = mkdtempSync(join(tmpdir(), 'tenon-release-'))
  try {
    const path = join(temporary, 'core')
    writeFileSync(path, bytes)
    const [text] = readTextConstants(
      path,
      readBinary(path).exports.filter(({ name }) => name.replace(/^_/, '') === SYMBOL),
    )
    // The version of the ABI is an unsigned constant of C.
    return typeof text === 'string' ? text.replace(/u$/, '') : `no constant ${SYMBOL}`
  } catch (error) {
    if (error instanceof BinaryFormatError) return undefined
    throw error
  } finally {
    rmSync(temporary, { recursive: true })
  }
}
