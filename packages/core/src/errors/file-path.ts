import { fileURLToPath } from 'node:url'
import { checkName } from './check-arguments.ts'
import { describe } from './describe.ts'
import { isRevoked } from './is-revoked.ts'
import { ArgumentError } from './kinds.ts'

/** @throws {ArgumentError} if the value is neither a path nor a `file:` URL */
export function filePath(file: unknown): string {
  if (isRevoked(file) || !(file instanceof URL)) return checkName(file, 'path')
  try {
    return fileURLToPath(file)
  } catch (cause) {
    throw new ArgumentError(`path must be a path or a file: URL of this system, got ${describe(file.href)}`, { cause })
  }
}
