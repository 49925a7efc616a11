import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'

import { ToolError } from '@tenon/build'

import { readProject } from '../lib/project.ts'
import { root } from '../lib/root.ts'
import { capturePnpm } from '../lib/run-tool.ts'
import type { WorkspacePackage } from '../lib/workspace.ts'
import { carryDigests } from './carry-digests.ts'
import { finishPackage } from './finish-package.ts'
import { type ReleasePackage, releasePackage } from './release-package.ts'
import { readTarball, writeTarball } from './tarball.ts'

/** A package of the workspace, and what is published of it. */
export interface PackedRelease {
  readonly source: WorkspacePackage
  readonly package: ReleasePackage
}

/**
 * Packs packages of the workspace as they are published. They must be built, and the platform packages filled.
 *
 * @param platforms for which there are packages, such as `linux-x64-gnu`. The core depends on these alone
 * @throws {ToolError} if one cannot be packed
 */
export async function packRelease(
  sources: readonly WorkspacePackage[],
  platforms: readonly string[],
): Promise<PackedRelease[]> {
  const project = readProject()
  const notice = readFileSync(join(root, 'NOTICE'), 'utf8')
  const platformPackages = platforms.map((platform) => `${project.scope}/core-${platform}`)
  const temporary = mkdtempSync(join(tmpdir(), 'tenon-pack-'))
  try {
    const packages: ReleasePackage[] = []
    for (const source of sources) {
      const directory = relative(root, source.directory).replaceAll('\\', '/')
      const context = { project, directory, notice, platform: source.platform, platformPackages }
      packages.push(finishPackage(await packOne(source, temporary), context))
    }
    return carryDigests(packages, project.scope).map((pkg, i) => ({ source: sources[i]!, package: pkg }))
  } finally {
    rmSync(temporary, { recursive: true })
  }
}

async function packOne({ name, directory }: WorkspacePackage, temporary: string): Promise<ReleasePackage> {
  const packed = await capturePnpm(['pack', '--json', '--pack-destination', temporary], { cwd: directory })
  if (packed.code !== 0) throw new ToolError(`${name} cannot be packed\n${packed.stdout}${packed.stderr}`)
  const { filename } = JSON.parse(packed.stdout) as { filename: string }
  return releasePackage(name, readTarball(filename, readFileSync(filename)))
}

/** Writes a package as a tarball, named as npm names it. @returns its path */
export function writePackage({ name, version, files }: ReleasePackage, directory: string): string {
  mkdirSync(directory, { recursive: true })
  const path = join(directory, `${name.replace(/^@/, '').replaceAll('/', '-')}-${version}.tgz`)
  writeFileSync(path, writeTarball(files))
  return path
}
