import { fileURLToPath } from 'node:url'
import { ArgumentError } from '@tenon/core'
import { checkName, describe } from '@tenon/core/internal'

/**
 * The path of a file that was given as a path or as a `file:` URL.
 *
 * @throws {ArgumentError} if it is neither
 */
export function filePath(file: unknown): string {
  if (!(file instanceof URL)) return checkName(file, 'path')
  try {
    return fileURLToPath(file)
  } catch (cause) {
    throw new ArgumentError(`path must be a path or a file: URL of this system, got ${describe(file.href)}`, { cause })
  }
}
