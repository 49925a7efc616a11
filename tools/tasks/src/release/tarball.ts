import { ToolError } from '@tenon/build'

import { InputError } from '../../../../packages/tenon/src/cli/input-error.ts'
import * as tarball from '../../../../packages/tenon/src/pack/tarball.ts'

/** A file of a package. */
export interface PackedFile {
  readonly bytes: Buffer
  /** Whether the system may run it as a program. */
  readonly executable: boolean
}

/** The files of a package, by their path with `/`. */
export type PackedFiles = ReadonlyMap<string, PackedFile>

/** Reads the tarball of an npm package: regular files below one folder. @throws {ToolError} if it has anything else */
export function readTarball(name: string, bytes: Uint8Array): PackedFiles {
  try {
    return new Map(tarball.readTarball(name, bytes).map(({ path, ...file }) => [path, file]))
  } catch (error) {
    throw error instanceof InputError ? new ToolError(error.message, { cause: error }) : error
  }
}

/** Writes the tarball of an npm package. The same files make the same bytes, in whatever order. */
export function writeTarball(files: PackedFiles): Buffer {
  const sorted = [...files].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return tarball.writeTarball(sorted.map(([path, file]) => ({ path, ...file })))
}
