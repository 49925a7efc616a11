import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { artifactName, isBuiltFor, isShipped, loadPackage, type NativePackage, platforms } from '@tenon/build'

import { type WorkspacePackage, withNativeTargets } from './workspace.ts'

/** The files that the package of a platform, such as `linux-x64-gnu`, must contain: its libraries, addons and programs, without those for tests. */
export function platformFiles({ targets }: NativePackage, name: string): string[] {
  const platform = platforms.find((one) => one.name === name)
  if (!platform) return []
  return targets
    .filter((target) => isShipped(target) && !target.fixture && isBuiltFor(target, platform))
    .map((target) => artifactName(target, platform))
}

/** A sentence for each file of the platform packages that is missing, or is not the one that was built. */
export async function findPlatformProblems(packages: readonly WorkspacePackage[]): Promise<string[]> {
  const problems: string[] = []
  for (const { directory } of withNativeTargets(packages)) {
    const { native } = await loadPackage(directory)
    if (!native.platformPackages) continue
    const home = join(directory, native.platformPackages)
    for (const { name, directory: platformPackage, platform } of packages) {
      if (platform === undefined || dirname(platformPackage) !== home) continue
      problems.push(...findFileProblems(name, platformPackage, platformFiles(native, platform)))
    }
  }
  return problems
}

export function findFileProblems(name: string, directory: string, wanted: readonly string[]): string[] {
  const sums = join(directory, 'lib/SHA256SUMS.json')
  if (!existsSync(sums)) return [`${name} has no libraries. Run tenon-build --package on its platform.`]
  const digests = JSON.parse(readFileSync(sums, 'utf8')) as Record<string, string>
  return [...new Set([...wanted, ...Object.keys(digests)])].flatMap((file) => {
    const path = join(directory, 'lib', file)
    if (!existsSync(path)) return [`${name} does not contain ${file}`]
    const digest = createHash('sha256').update(readFileSync(path)).digest('hex')
    return digest === digests[file] ? [] : [`${name} contains a ${file} that does not match SHA256SUMS.json`]
  })
}
