import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'

import { ToolError } from '@tenon/build'

import { type PackedFile, type PackedFiles, readTarball } from './tarball.ts'

/** A `package.json`. */
export type Manifest = Readonly<Record<string, unknown>>

/** A package as it would be published. */
export interface ReleasePackage {
  readonly name: string
  readonly version: string
  readonly manifest: Manifest
  readonly files: PackedFiles
}

/** Reads the manifest of files. @throws {ToolError} if they have none */
export function releasePackage(label: string, files: PackedFiles): ReleasePackage {
  const text = files.get('package.json')?.bytes.toString()
  if (text === undefined) throw new ToolError(`${label} must contain package.json`)
  const manifest = JSON.parse(text) as Manifest
  const { name, version } = manifest
  if (typeof name !== 'string' || typeof version !== 'string')
    throw new ToolError(`the package.json of ${label} must have a name and a version`)
  return { name, version, manifest, files }
}

/** Replaces files of a package. */
export const withFiles = (pkg: ReleasePackage, changes: Readonly<Record<string, Buffer | string>>): ReleasePackage =>
  releasePackage(
    pkg.name,
    new Map([
      ...pkg.files,
      ...Object.entries(changes).map(([path, content]) => {
        const executable = pkg.files.get(path)?.executable ?? false
        return [path, { bytes: Buffer.from(content as string), executable }] as const
      }),
    ]),
  )

/** Replaces fields of the manifest of a package. Undefined ones are removed. */
export const withManifest = (pkg: ReleasePackage, changes: Manifest): ReleasePackage =>
  withFiles(pkg, { 'package.json': `${JSON.stringify({ ...pkg.manifest, ...changes }, undefined, 2)}\n` })

/**
 * Reads packages from tarballs, from folders of tarballs, and from folders of unpacked packages.
 *
 * @throws {ToolError} if a path has none of these
 */
export function readReleasePackages(paths: readonly string[]): ReleasePackage[] {
  return paths.flatMap((path) => {
    if (!existsSync(path)) throw new ToolError(`${path} does not exist`)
    if (!statSync(path).isDirectory()) return [releasePackage(basename(path), readTarball(path, readFileSync(path)))]
    if (existsSync(join(path, 'package.json'))) return [releasePackage(path, readFolder(path))]
    const tarballs = globSync('*.tgz', { cwd: path }).toSorted()
    if (tarballs.length === 0) throw new ToolError(`${path} must be a package, or contain tarballs of packages`)
    return readReleasePackages(tarballs.map((file) => join(path, file)))
  })
}

function readFolder(directory: string): PackedFiles {
  const paths = globSync('**', { cwd: directory, exclude: (name) => name === 'node_modules' }).toSorted()
  const files = new Map<string, PackedFile>()
  for (const path of paths) {
    const stats = statSync(join(directory, path))
    if (!stats.isFile()) continue
    const executable = (stats.mode & 0o111) !== 0
    files.set(path.replaceAll('\\', '/'), { bytes: readFileSync(join(directory, path)), executable })
  }
  return files
}
