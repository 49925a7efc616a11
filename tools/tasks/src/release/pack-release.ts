import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'

import { digestsPath, hostPlatform, npm, type NpmPackage, ToolError } from '@tenon/build/internal'

import { runNativeBuild } from '../lib/native.ts'
import { releasedPlatforms } from '../lib/platforms.ts'
import { readProject } from '../lib/project.ts'
import { root } from '../lib/root.ts'
import { capturePnpm, withoutNpm } from '../lib/run-tool.ts'
import { publicPackages, withNativeTargets, type WorkspacePackage } from '../lib/workspace.ts'
import { carryDigests } from './core-digests.ts'
import { finishPackage } from './finish-package.ts'
import { type ReleasePackage, readReleasePackages, readTarball } from './release-packages.ts'

/**
 * Packs the public packages of the workspace as they are published, into a folder. They must be built, and the packages of the released
 * platforms filled.
 *
 * @param here whether the only platform is that of this machine, whose libraries must be built and need its own glibc
 * @throws {ToolError} if a package cannot be packed
 */
export async function packRelease(directory: string, here: boolean): Promise<ReleasePackage[]> {
  const project = readProject()
  const notice = readFileSync(join(root, 'NOTICE'), 'utf8')
  const platforms = here ? [hostPlatform.name] : releasedPlatforms().map(({ name }) => name)
  const platformPackages = platforms.map((platform) => `${project.scope}/core-${platform}`)
  const sources = await publicPackages(platforms)
  for (const source of here ? withNativeTargets(sources) : []) {
    const filled = await runNativeBuild(source.directory, ['--package'])
    if (filled.code !== 0) throw new ToolError(filled.stderr)
  }
  const temporary = mkdtempSync(join(tmpdir(), 'tenon-pack-'))
  try {
    const packages: NpmPackage[] = []
    for (const { platform, ...source } of sources) {
      const packed = await packOne(source, temporary)
      if (platform !== undefined && !packed.files.has(digestsPath))
        throw new ToolError(`${source.name} has no libraries. Run pnpm release:native ${platform}.`)
      const folder = relative(root, source.directory).replaceAll('\\', '/')
      packages.push(finishPackage(packed, { project, directory: folder, notice, platform, platformPackages }))
    }
    const folders = carryDigests(packages, project.scope).map((pkg) => writeFolder(pkg, join(temporary, pkg.name)))
    return await packFolders(folders, directory)
  } finally {
    rmSync(temporary, { recursive: true })
  }
}

async function packOne({ name, directory }: WorkspacePackage, temporary: string): Promise<NpmPackage> {
  // Without the script that refuses to pack the core alone.
  const args = ['pack', '--config.ignore-scripts=true', '--json', '--pack-destination', temporary]
  const packed = await capturePnpm(args, { cwd: directory })
  if (packed.code !== 0) throw new ToolError(`${name} cannot be packed\n${packed.stdout}${packed.stderr}`)
  return readTarball((JSON.parse(packed.stdout) as { filename: string }).filename)
}

/** Writes the files of a package. @returns the folder */
export function writeFolder({ files }: Pick<NpmPackage, 'files'>, directory: string): string {
  for (const [path, { bytes, executable }] of files) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), bytes, { mode: executable ? 0o755 : 0o644 })
  }
  return directory
}

/** Packs folders with npm, which writes the same bytes for the same files. */
async function packFolders(folders: readonly string[], directory: string): Promise<ReleasePackage[]> {
  mkdirSync(directory, { recursive: true })
  const args = ['pack', '--json', '--pack-destination', resolve(directory), ...folders]
  const { status, stdout, stderr } = npm(args, withoutNpm(process.env))
  if (status !== 0) throw new ToolError(`npm could not pack the packages:\n${stderr}`)
  const packed = JSON.parse(stdout) as { readonly filename: string }[]
  return readReleasePackages(packed.map(({ filename }) => join(directory, filename)))
}
