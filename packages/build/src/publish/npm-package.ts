import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'

import { ToolError } from '../tool-error.ts'

/** A `package.json`. */
export type Manifest = Readonly<Record<string, unknown>>

/** A file of an npm package. */
export interface PackageFile {
  readonly bytes: Buffer
  /** Whether the system may run it as a program. */
  readonly executable: boolean
}

/** An npm package as it is published. */
export interface NpmPackage {
  readonly name: string
  readonly version: string
  readonly manifest: Manifest
  /** The files, by their path with `/`. */
  readonly files: ReadonlyMap<string, PackageFile>
}

/** Makes a package of files. @param label the name of their place, for errors @throws {ToolError} without a manifest that names it */
export function npmPackage(label: string, files: NpmPackage['files']): NpmPackage {
  const manifest = parseManifest(files.get('package.json'))
  const { name, version } = manifest
  if (typeof name !== 'string' || typeof version !== 'string')
    throw new ToolError(`${label} must have a package.json with a name and a version`)
  return { name, version, manifest, files }
}

function parseManifest(file: PackageFile | undefined): Manifest {
  try {
    return Object(JSON.parse(file?.bytes.toString() ?? '')) as Manifest
  } catch {
    return {}
  }
}

/** Reads the package in a folder, as `npm pack` takes it. @throws {ToolError} without a manifest that names it */
export function readPackage(directory: string): NpmPackage {
  const files = new Map<string, PackageFile>()
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    const executable = (statSync(file).mode & 0o111) !== 0
    files.set(relative(directory, file).replaceAll('\\', '/'), { bytes: readFileSync(file), executable })
  }
  return npmPackage(directory, new Map([...files].toSorted(([a], [b]) => (a < b ? -1 : 1))))
}

/** Returns the packages on which a package depends when it is installed, with their ranges. */
export const installedWith = ({ manifest }: NpmPackage): Manifest =>
  Object.assign({}, manifest['dependencies'], manifest['optionalDependencies']) as Manifest

/** Sorts packages so that each follows those on which it depends. */
export function inPublishOrder<T extends NpmPackage>(packages: readonly T[]): T[] {
  const ordered = new Set<T>()
  const visit = (pkg: T): void => {
    const needed = installedWith(pkg)
    for (const other of packages) if (needed[other.name] !== undefined && !ordered.has(other)) visit(other)
    ordered.add(pkg)
  }
  packages.forEach(visit)
  return [...ordered]
}
