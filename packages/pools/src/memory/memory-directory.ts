import { lstatSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ArgumentError, UnsupportedError } from '@tenon/core'
import { checkName, describe, wrongType } from '@tenon/core/internal'
import { PoolsError } from '../error-status.ts'

const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$/

/** @throws {ArgumentError} if a name could be a path, or is too long. */
export function checkMemoryName(name: unknown): string {
  if (typeof name === 'string' && NAME.test(name)) return name
  throw wrongType('name', 'a string of 1 to 64 letters, digits, dots, dashes and underlines', name)
}

/**
 * Returns the directory of the sockets of named memory, which only this user can enter.
 *
 * @param directory by default `tenon` in `$XDG_RUNTIME_DIR`. @param isMade whether it is made if it does not exist.
 * @throws {ArgumentError} if there is no default, or others can enter the directory. @throws {PoolsError} if it does not exist.
 * @throws {UnsupportedError} on systems other than Linux.
 */
export function memoryDirectory(directory: string | undefined, isMade: boolean): string {
  if (process.platform !== 'linux')
    throw new UnsupportedError(`memory has names only on Linux, got ${process.platform}`)
  const path = directory === undefined ? defaultDirectory() : checkName(directory, 'directory')
  try {
    if (isMade) mkdirSync(path, { mode: 0o700 })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw failedOn(path, cause)
  }
  let facts
  try {
    facts = lstatSync(path)
  } catch (cause) {
    throw failedOn(path, cause)
  }
  const mode = facts.mode & 0o777
  if (facts.isDirectory() && facts.uid === process.getuid!() && (mode & 0o077) === 0) return path
  const found = `${facts.isDirectory() ? 'a directory' : 'a file'} of user ${facts.uid} with the mode 0${mode.toString(8)}`
  throw new ArgumentError(
    `directory must be a directory of user ${process.getuid!()} that no one else can enter, got ${found}: ${path}`,
    { hint: 'Create it with the mode 0700, or pass another directory.' },
  )
}

function defaultDirectory(): string {
  const { XDG_RUNTIME_DIR: runtime } = process.env
  if (runtime !== undefined && runtime.startsWith('/')) return join(runtime, 'tenon')
  throw new ArgumentError(`directory must be given where XDG_RUNTIME_DIR is not a path, got ${describe(runtime)}`, {
    hint: 'Pass the same directory to export() and openNamed().',
  })
}

const failedOn = (path: string, cause: unknown): PoolsError =>
  new PoolsError('DEVICE_UNAVAILABLE', `the directory ${describe(path)} cannot be used: ${(cause as Error).message}`, {
    cause,
  })
