import { existsSync, lstatSync, mkdirSync, realpathSync, renameSync, rmSync, type Stats, statSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'

/**
 * The folder `tenon` in the directory of the system for caches of the user, or the directory that `TENON_CACHE_DIR` names.
 *
 * @param refuse makes the error for a variable that is not an absolute path
 */
export function userCachePath(environment: NodeJS.ProcessEnv, refuse: (chosen: string) => Error): string {
  const { TENON_CACHE_DIR: chosen, XDG_CACHE_HOME, LOCALAPPDATA, HOME } = environment
  if (chosen) {
    if (isAbsolute(chosen)) return chosen
    throw refuse(chosen)
  }
  // Loaded here, because few programs have a cache.
  const home = HOME && isAbsolute(HOME) ? HOME : process.getBuiltinModule('node:os').homedir()
  if (process.platform === 'win32')
    return join(LOCALAPPDATA && isAbsolute(LOCALAPPDATA) ? LOCALAPPDATA : join(home, 'AppData/Local'), 'tenon/cache')
  if (process.platform === 'darwin') return join(home, 'Library/Caches/tenon')
  return join(XDG_CACHE_HOME && isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(home, '.cache'), 'tenon')
}

/** Makes the error for a directory, with a clause that says what is wrong with it. */
export type RefuseDirectory = (path: string, reason: string, cause?: unknown) => Error

/**
 * Makes a directory if it is missing, and refuses one in which somebody else can write, because a library from there is code that runs
 * in this process.
 *
 * @returns the path without symbolic links
 */
export function openPrivateDirectory(path: string, refuse: RefuseDirectory): string {
  let real: string
  try {
    makeDirectories(path)
    real = realpathSync(path)
  } catch (error) {
    throw refuse(path, `cannot be made: ${(error as Error).message}`, error)
  }
  const stats = statSync(real)
  if (!stats.isDirectory()) throw refuse(path, 'is not a directory')
  const uid = process.getuid?.()
  // Windows has no modes, and the directories there belong to the user.
  if (uid === undefined) return real
  if (stats.uid !== uid) throw refuse(path, `belongs to the user ${stats.uid}, and this process runs as ${uid}`)
  if ((stats.mode & 0o022) !== 0)
    throw refuse(path, `can be written to by other users (mode ${modeOf(stats)}); chmod 700 changes that`)
  for (let parent = dirname(real), child = real; parent !== child; child = parent, parent = dirname(parent)) {
    const above = lstatSync(parent)
    // In a directory with the sticky bit, such as /tmp, nobody can rename what belongs to somebody else.
    if ((above.mode & 0o002) !== 0 && (above.mode & 0o1000) === 0)
      throw refuse(path, `is in ${parent}, where all users can rename directories (mode ${modeOf(above)})`)
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

/** The most attempts to rename a directory into place, while other processes do the same. */
const ATTEMPTS = 5

/**
 * Renames a directory into place when it is complete, so processes need no lock, and none of them sees a part of it. A complete one that
 * is in the place already stays there, and a damaged one is removed.
 *
 * @param spare returns a new path in the same file system
 * @returns false if another process has made the directory meanwhile. @throws the error of the system
 */
export function publishDirectory(
  directory: string,
  target: string,
  isComplete: (directory: string) => boolean,
  spare: () => string,
): boolean {
  let failure: unknown
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (tryRename(directory, target, (error) => (failure = error))) return true
    if (isComplete(target)) return false
    discard(target, spare(), isComplete)
  }
  throw failure
}

/** Removes a damaged directory. If another process has replaced it meanwhile, the new one is put back. */
function discard(target: string, path: string, isComplete: (directory: string) => boolean): void {
  if (!tryRename(target, path, () => {})) return
  if (isComplete(path) && tryRename(path, target, () => {})) return
  removeQuietly(path)
}

function tryRename(from: string, to: string, onError: (error: unknown) => void): boolean {
  try {
    renameSync(from, to)
    return true
  } catch (error) {
    onError(error)
    return false
  }
}

/** Another process may remove the same files. On Windows, a library that is in use stays. */
export function removeQuietly(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true })
  } catch {
    // Removed later.
  }
}
