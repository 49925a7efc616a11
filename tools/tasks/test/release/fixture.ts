import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import {
  findPlatform,
  type Manifest,
  type NativePackage,
  type NpmPackage,
  npmPackage,
  type PlatformName,
  sharedLibraryName,
} from '@tenon/build/internal'

import type { ProjectFacts } from '../../src/lib/project.ts'
import { findReleaseFaults } from '../../src/release/check-release.ts'
import { finishPackage } from '../../src/release/finish-package.ts'

export const project: ProjectFacts = {
  owner: 'owner',
  repository: 'tenon',
  site: 'https://tenon.example',
  scope: '@tenon',
}

export const native: NativePackage = { targets: [{ name: 'tenon', kind: 'shared', sources: [], imports: [] }] }

/** Makes a package of files and a manifest. */
export function packageOf(manifest: Manifest, files: Readonly<Record<string, Buffer | string>>): NpmPackage {
  const all = { 'package.json': JSON.stringify(manifest), ...files }
  const entries = Object.entries(all).map(([path, content]) => [path, Buffer.from(content as string)] as const)
  return npmPackage(
    String(manifest['name']),
    new Map(entries.map(([path, bytes]) => [path, { bytes, executable: false }])),
  )
}

/** A platform package of the core whose only library has these bytes, with the right digest. */
export function platformPackage(platform: PlatformName, bytes: Buffer): NpmPackage {
  const file = sharedLibraryName('tenon', findPlatform(platform))
  const packed = packageOf(
    {
      name: `@tenon/core-${platform}`,
      version: '1.2.3',
      license: 'Apache-2.0',
      exports: { './package.json': './package.json', './lib/*': './lib/*' },
      preferUnplugged: true,
    },
    {
      LICENSE: 'the license',
      'README.md': '[core](https://npmjs.com)',
      [`lib/${file}`]: bytes,
      'lib/SHA256SUMS.json': JSON.stringify({ [file]: createHash('sha256').update(bytes).digest('hex') }),
    },
  )
  const directory = `packages/core/npm/${platform === 'win32-x64' ? platform : 'linux-x64-gnu'}`
  return finishPackage(packed, { project, directory, notice: 'the notice', platform, platformPackages: [] })
}

/** Replaces files of a package. */
export const withFiles = (pkg: NpmPackage, changes: Readonly<Record<string, Buffer | string>>): NpmPackage =>
  npmPackage(
    pkg.name,
    new Map([
      ...pkg.files,
      ...Object.entries(changes).map(
        ([path, content]) => [path, { bytes: Buffer.from(content as string), executable: false }] as const,
      ),
    ]),
  )

/** Replaces fields of the manifest of a package. Undefined ones are removed. */
export const withManifest = (pkg: NpmPackage, changes: Manifest): NpmPackage =>
  withFiles(pkg, { 'package.json': JSON.stringify({ ...pkg.manifest, ...changes }) })

/** Removes a file of a package. */
export const withoutFile = (pkg: NpmPackage, path: string): NpmPackage =>
  npmPackage(pkg.name, new Map([...pkg.files].filter(([name]) => name !== path)))

/** The faults of packages that are released for these platforms. */
export const faultsOf = (platforms: readonly PlatformName[], ...packages: NpmPackage[]): string[] =>
  findReleaseFaults(packages, { project, native, platforms })

/** Compiles a library with the compiler of this machine. */
export function compiled(source: string, ...flags: string[]): Buffer {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-compiled-'))
  try {
    const [input, output] = [join(directory, 'a.c'), join(directory, 'libtenon.so')]
    writeFileSync(input, source)
    execFileSync(process.env['CC'] || 'cc', ['-shared', '-fPIC', input, '-o', output, ...flags], { cwd: directory })
    return readFileSync(output)
  } finally {
    rmSync(directory, { recursive: true })
  }
}
