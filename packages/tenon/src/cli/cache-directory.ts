import * as fs from 'node:fs'
import { isAbsolute, join } from 'node:path'

/**
 * Returns the directory where the command keeps compiled code for later runs, and makes it. Compiled code is executed as it
 * is, so a directory that another user owns or can write to is not used. Returns undefined if there is no such directory, for
 * example in a read-only home directory, or if `NODE_DISABLE_COMPILE_CACHE` is 1.
 */
export function ownCacheDirectory(environment: NodeJS.ProcessEnv): string | undefined {
  const parent = cacheDirectory(environment)
  if (parent === undefined || environment['NODE_DISABLE_COMPILE_CACHE'] === '1') return undefined
  const directory = join(parent, 'tenon')
  try {
    // With the option recursive, mkdirSync() does not end in /proc, where directories exist in which none can be made.
    for (const each of [parent, directory]) if (!fs.existsSync(each)) makeDirectory(each)
    const { uid, mode } = fs.lstatSync(directory)
    const isOurs = process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0)
    return isOurs ? directory : undefined
  } catch {
    return undefined
  }
}

function makeDirectory(path: string): void {
  try {
    fs.mkdirSync(path, 0o700)
  } catch (error) {
    // Another process may have made it.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** The directory for caches of the user; undefined if the environment does not name an absolute one. */
export function cacheDirectory(environment: NodeJS.ProcessEnv): string | undefined {
  const absolute = (directory: string | undefined): directory is string =>
    directory !== undefined && isAbsolute(directory)
  const { XDG_CACHE_HOME, HOME, LOCALAPPDATA } = environment
  if (process.platform === 'win32') return absolute(LOCALAPPDATA) ? LOCALAPPDATA : undefined
  if (absolute(XDG_CACHE_HOME)) return XDG_CACHE_HOME
  if (!absolute(HOME)) return undefined
  return process.platform === 'darwin' ? join(HOME, 'Library', 'Caches') : join(HOME, '.cache')
}
