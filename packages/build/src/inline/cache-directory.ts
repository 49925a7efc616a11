import { existsSync, lstatSync, mkdirSync, realpathSync, type Stats, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'

import { hostPlatform } from '../platform.ts'
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
  const { TENON_CACHE_DIR: chosen, XDG_CACHE_HOME, LOCALAPPDATA, HOME } = environment
  if (chosen) {
    if (isAbsolute(chosen)) return chosen
    throw new CompileError(`TENON_CACHE_DIR must be an absolute path, got ${chosen}`, {
      hint: chooseAnother,
      details: { expected: 'an absolute path', received: chosen },
    })
  }
  const home = HOME && isAbsolute(HOME) ? HOME : homedir()
  if (hostPlatform.os === 'win32')
    return join(LOCALAPPDATA && isAbsolute(LOCALAPPDATA) ? LOCALAPPDATA : join(home, 'AppData/Local'), 'tenon/cache')
  if (hostPlatform.os === 'darwin') return join(home, 'Library/Caches/tenon')
  return join(XDG_CACHE_HOME && isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(home, '.cache'), 'tenon')
}

/**
 * Makes a directory for the cache if it is missing, and refuses one in which somebody else can write, because a library from there is
 * code that runs in this process.
 *
 * @returns the path without symbolic links
 * @throws {CompileError} that says what is wrong with the directory
 */
export function openCacheDirectory(path: string): string {
  let real: string
  try {
    makeDirectories(path)
    real = realpathSync(path)
  } catch (error) {
    throw unusable(path, `cannot be made: ${(error as Error).message}`, error)
  }
  const stats = statSync(real)
  if (!stats.isDirectory()) throw unusable(path, 'is not a directory')
  const uid = process.getuid?.()
  // Windows has no modes, and the directories there belong to the user.
  if (uid === undefined) return real
  if (stats.uid !== uid) throw unusable(path, `belongs to the user ${stats.uid}, and this process runs as ${uid}`)
  if ((stats.mode & 0o022) !== 0)
    throw unusable(path, `can be written to by other users (mode ${modeOf(stats)}); chmod 700 changes that`)
  for (let parent = dirname(real), child = real; parent !== child; child = parent, parent = dirname(parent)) {
    const above = lstatSync(parent)
    // In a directory with the sticky bit, such as /tmp, nobody can rename what belongs to somebody else.
    if ((above.mode & 0o002) !== 0 && (above.mode & 0o1000) === 0)
      throw unusable(path, `is in ${parent}, where all users can rename directories (mode ${modeOf(above)})`)
  }
  return real
}

/** mkdirSync() of Node.js with `recursive` does not end in /proc, where directories exist in which none can be made. */
function makeDirectories(path: string): void {
  const missing: string[] = []
  for (let at = path; !existsSync(at) && at !== dirname(at); at = dirname(at)) missing.push(at)
  for (const each of missing.toReversed()) {
    try {
      mkdirSync(each, 0o700)
    } catch (error) {
      // Another process may have made it.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

function modeOf({ mode }: Stats): string {
  return (mode & 0o7777).toString(8)
}

/** Returns the error for a cache that cannot be used. */
export function unusable(path: string, reason: string, cause?: unknown): CompileError {
  return new CompileError(`the cache of compiled sources ${path} ${reason}`, {
    hint: chooseAnother,
    details: { path },
    ...(cause === undefined ? {} : { cause }),
  })
}
