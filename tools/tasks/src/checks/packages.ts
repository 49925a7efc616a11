import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { hostPlatform } from '@tenon/build'

import { inLanes } from '../lib/in-lanes.ts'
import { captureTool } from '../lib/run-tool.ts'
import { listPackages } from '../lib/workspace.ts'
import { findReleaseFaults, readReleaseCheck } from '../release/check-release.ts'
import { packRelease } from '../release/pack-release.ts'
import type { ReleasePackage } from '../release/release-packages.ts'
import type { Check } from './check.ts'
import { checkDeclarations } from './declarations.ts'

/** The libraries of this machine need its own glibc. Those of a release are built with zig for an older one. */
const ANY_GLIBC = '2.99'

/** Checks the packages as they would be published from this machine: their bytes, and that they resolve in ESM and in TypeScript. */
export const packagesCheck: Check = {
  name: 'packages',
  async run() {
    const built = await captureTool('turbo', ['run', 'build', 'build:native', '--output-logs=errors-only'])
    if (built.code !== 0) return { problems: [`the build failed\n${built.stdout}${built.stderr}`] }
    const directory = mkdtempSync(join(tmpdir(), 'tenon-pack-'))
    try {
      const packed = await packRelease(directory, true)
      const rules = { platforms: [hostPlatform.name], oldestGlibc: ANY_GLIBC, isTrial: true }
      const faults = findReleaseFaults(packed, { ...(await readReleaseCheck()), ...rules })
      const ofDeclarations = await checkDeclarations((await listPackages()).filter((pkg) => !pkg.private))
      const ofResolution = await inLanes(packed, checkResolution)
      return { problems: [...faults, ...ofDeclarations, ...ofResolution.flat()], note: `${packed.length} packages` }
    } finally {
      rmSync(directory, { recursive: true })
    }
  },
}

/** Runs publint, and for packages with modules Are the types wrong. */
async function checkResolution({ name, path, manifest }: ReleasePackage): Promise<string[]> {
  const problems: string[] = []
  const publint = await captureTool('publint', ['run', path, '--strict'])
  if (publint.code !== 0) problems.push(`publint ${name}\n${publint.stdout}${publint.stderr}`)
  if (manifest['os'] !== undefined) return problems
  const attw = await captureTool('attw', [path, '--profile', 'esm-only', '--format', 'ascii'])
  if (attw.code !== 0) problems.push(`attw ${name}\n${attw.stdout}${attw.stderr}`)
  return problems
}
