import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import type { LibraryExports } from '@tenon/bind'
import { InputError } from '../cli/input-error.ts'
import { exportedNames } from '../exported-names.ts'
import { libraryPath } from '../library-path.ts'

const ASSIGNED = /^([a-z0-9]+(?:-[a-z0-9]+){0,2})=(.+)$/

/**
 * The libraries of a platform: those without a platform, and those whose platform is this one or begins its name, as `win32=zlib1.dll`.
 *
 * @param platform undefined for this machine, for which no list names a platform
 */
export function librariesFor(libraries: readonly string[], platform: string | undefined): string[] {
  return libraries.flatMap((text) => {
    const [, name, file = text] = platform === undefined ? [] : (ASSIGNED.exec(text) ?? [])
    return name === undefined || platform === name || platform!.startsWith(`${name}-`) ? [file] : []
  })
}

/** Whether a platform is that of this machine, so that its libraries are here as well. */
export const isHere = (platform: string | undefined): boolean =>
  platform === undefined || platform.startsWith(`${process.platform}-${process.arch}`)

/** The exports of a library. One of another platform need not be on this machine: then its functions are looked up when the module runs. */
export function exportsOf(library: string, platform: string | undefined): LibraryExports {
  const path = libraryPath(library)
  if (existsSync(path)) return { name: basename(library), symbols: exportedNames(path) }
  if (!isHere(platform)) return { name: basename(library), symbols: undefined }
  throw new InputError(
    `the library ${library} does not exist`,
    'Pass a path, or the name that the loader searches, such as libz.so.1.',
  )
}
