import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { InputError } from '../cli/input-error.ts'
import type { Manifest } from './manifests.ts'
import { packedDirectory } from './pack-project.ts'
import { readTarball } from './tarball.ts'

/** The tarball of a package, as it would be published. */
export interface Tarball {
  /** The name of the file. */
  readonly fileName: string
  readonly path: string
  readonly bytes: Buffer
  readonly name: string
  readonly version: string
  readonly manifest: Manifest
  /** The contents of each file, by its path. */
  readonly files: ReadonlyMap<string, Buffer>
}

/**
 * Reads the packages that `tenon pack` has written for a project: those of its platforms, and then the main one, which depends on
 * them.
 *
 * @throws {InputError} if there are none, or a tarball is damaged or has no manifest
 */
export function readPackages(directory: string, name: string): Tarball[] {
  const folder = join(directory, packedDirectory)
  const names = existsSync(folder) ? globSync('*.tgz', { cwd: folder }).toSorted() : []
  if (names.length === 0) throw new InputError(`${folder} has no packages`, 'Run tenon pack.')
  const tarballs = names.map((fileName) => readPackage(fileName, join(folder, fileName)))
  const isMain = (one: Tarball): boolean => one.name === name
  return [...tarballs.filter((one) => !isMain(one)), ...tarballs.filter(isMain)]
}

function readPackage(fileName: string, path: string): Tarball {
  const bytes = readFileSync(path)
  const files = new Map(readTarball(fileName, bytes).map((file) => [file.path, file.bytes]))
  const manifest = parseManifest(files.get('package.json'))
  const { name, version } = manifest ?? {}
  if (manifest === undefined || typeof name !== 'string' || typeof version !== 'string') {
    throw new InputError(`${fileName} must have a package.json with a name and a version`, 'Run tenon pack.')
  }
  return { fileName, path, bytes, name, version, manifest, files }
}

function parseManifest(bytes: Buffer | undefined): Manifest | undefined {
  try {
    const value: unknown = JSON.parse(bytes?.toString() ?? '')
    return typeof value === 'object' && value !== null ? (value as Manifest) : undefined
  } catch {
    return undefined
  }
}
