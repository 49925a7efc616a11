import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ModelLoadError } from '../errors.ts'

/** The names of the folders in a folder, in alphabetical order. @throws {ModelLoadError} if the folder cannot be read. */
export function foldersIn(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => !name.startsWith('.') && statSync(join(directory, name)).isDirectory())
      .toSorted()
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw new ModelLoadError(`${directory} must be a folder with models${isMissing ? ', but does not exist' : ''}`, {
      hint: 'Check the path.',
      cause: error,
    })
  }
}
