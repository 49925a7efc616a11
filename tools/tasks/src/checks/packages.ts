import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { hostPlatform, loadPackage } from '@tenon/build'

import { inLanes } from '../lib/in-lanes.ts'
import { runNativeBuild } from '../lib/native.ts'
import { readProject } from '../lib/project.ts'
import { root } from '../lib/root.ts'
import { captureTool } from '../lib/run-tool.ts'
import { listPackages, withNativeTargets } from '../lib/workspace.ts'
import { findReleaseFaults } from '../release/check-release.ts'
import { type PackedRelease, packRelease, writePackage } from '../release/pack-release.ts'
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
    const all = (await listPackages()).filter((pkg) => !pkg.private)
    for (const { directory } of withNativeTargets(all)) {
      const filled = await runNativeBuild(directory, ['--package'])
      if (filled.code !== 0) return { problems: [filled.stderr] }
    }
    // The packages of other platforms contain libraries only where they were built.
    const platforms = [hostPlatform.name]
    const sources = all.filter(({ platform = hostPlatform.name }) => platform === hostPlatform.name)
    const packed = await packRelease(sources, platforms)
    const { native } = await loadPackage(join(root, 'packages/core'))
    const check = { project: readProject(), native, platforms, oldestGlibc: ANY_GLIBC, isTrial: true }
    const faults = findReleaseFaults(
      packed.map((one) => one.package),
      check,
    )
    const directory = mkdtempSync(join(tmpdir(), 'tenon-pack-'))
    try {
      const ofDeclarations = await checkDeclarations(sources)
      const ofResolution = await inLanes(packed, (one) => checkResolution(one, directory))
      return { problems: [...faults, ...ofDeclarations, ...ofResolution.flat()], note: `${packed.length} packages` }
    } finally {
      rmSync(directory, { recursive: true })
    }
  },
}

/** Runs publint, and for packages with modules Are the types wrong. */
async function checkResolution({ source, package: pkg }: PackedRelease, directory: string): Promise<string[]> {
  const path = writePackage(pkg, directory)
  const problems: string[] = []
  const publint = await captureTool('publint', ['run', path, '--strict'])
  if (publint.code !== 0) problems.push(`publint ${pkg.name}\n${publint.stdout}${publint.stderr}`)
  if (source.platform !== undefined) return problems
  const attw = await captureTool('attw', [path, '--profile', 'esm-only', '--format', 'ascii'])
  if (attw.code !== 0) problems.push(`attw ${pkg.name}\n${attw.stdout}${attw.stderr}`)
  return problems
}
