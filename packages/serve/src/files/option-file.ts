import { ArgumentError } from '@tenon/core'
import { readFileSync } from 'node:fs'

/** Reads the file of an option. @param name the name of the option: `tls.key`. @throws {ArgumentError} as {@link fileError} makes it. */
export function readOptionFile(name: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw fileError(name, 'a file that can be read', path, systemReason(error), { cause: error })
  }
}

/**
 * The error of an option whose file is missing or wrong. `details` has the name of the option, so that the command can name its flag instead, and
 * the `path` and the `reason`, for the log of a server that reads the file again.
 */
export const fileError = (
  name: string,
  expected: string,
  path: string,
  reason: string,
  options: { readonly hint?: string; readonly cause?: unknown } = {},
): ArgumentError =>
  new ArgumentError(`${name} must be the path of ${expected}, got ${path}: ${reason}`, {
    ...options,
    details: { name, expected: `the path of ${expected}`, path, reason },
  })

/** The words of an error of the system: `no such file or directory` of `ENOENT: no such file or directory, open 'x'`. */
const systemReason = (error: unknown): string =>
  /^[A-Z\d]+: ([^,]+)/.exec((error as Error).message)?.[1] ?? String(error)
