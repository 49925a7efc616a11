import { openPrivateDirectory, userCachePath } from '@tenon/binary/private-directory'
import { resolve } from 'node:path'

import { CompileError } from './compile-error.ts'

const chooseAnother =
  'Set TENON_CACHE_DIR, or the option cacheDirectory, to a directory that only this user can write to.'

/**
 * Returns the absolute path of the cache of compiled sources: the option, `TENON_CACHE_DIR`, or the folder `tenon` in the directory
 * of the system for caches of the user.
 *
 * @throws {CompileError} if the variable is not an absolute path
 */
export function cachePath(option: string | undefined, environment: NodeJS.ProcessEnv = process.env): string {
  if (option !== undefined) return resolve(option)
  return userCachePath(
    environment,
    (chosen) =>
      new CompileError(`TENON_CACHE_DIR must be an absolute path, got ${chosen}`, {
        hint: chooseAnother,
        details: { expected: 'an absolute path', received: chosen },
      }),
  )
}

/** Opens the directory of the cache. @throws {CompileError} that says what is wrong with it */
export function openCacheDirectory(path: string): string {
  return openPrivateDirectory(path, unusable)
}

/** Returns the error for a cache that cannot be used. */
export function unusable(path: string, reason: string, cause?: unknown): CompileError {
  return new CompileError(`the cache of compiled sources ${path} ${reason}`, {
    hint: chooseAnother,
    details: { path },
    ...(cause === undefined ? {} : { cause }),
  })
}
