import { enableCompileCache } from 'node:module'
import type * as fs from 'node:fs'
import type * as path from 'node:path'

/**
 * Keeps the compiled code of the command for later runs, in the cache directory of the user. Compiled code is not checked when
 * it is loaded, so a directory that another user owns or can write to is not used.
 */
export function keepCompiledCode(): void {
  const parent = cacheDirectory(process.env)
  if (parent === undefined) return
  // An import of node:fs as an ES module takes 4 ms, because the loader reads every export.
  const { lstatSync, mkdirSync } = process.getBuiltinModule('node:fs') as typeof fs
  const { join } = process.getBuiltinModule('node:path') as typeof path
  const directory = join(parent, 'tenon')
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    const { uid, mode } = lstatSync(directory)
    const isOurs = process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0)
    if (isOurs) enableCompileCache(directory)
  } catch {
    // A read-only home directory, or a process that is not permitted to write.
  }
}

/** The directory for caches of the user; undefined if the environment does not name an absolute one. */
export function cacheDirectory(environment: NodeJS.ProcessEnv): string | undefined {
  const { isAbsolute, join } = process.getBuiltinModule('node:path') as typeof path
  const absolute = (directory: string | undefined): directory is string =>
    directory !== undefined && isAbsolute(directory)
  const { XDG_CACHE_HOME, HOME, LOCALAPPDATA } = environment
  if (process.platform === 'win32') return absolute(LOCALAPPDATA) ? LOCALAPPDATA : undefined
  if (absolute(XDG_CACHE_HOME)) return XDG_CACHE_HOME
  if (!absolute(HOME)) return undefined
  return process.platform === 'darwin' ? join(HOME, 'Library', 'Caches') : join(HOME, '.cache')
}
