import { existsSync } from 'node:fs'
import { findLibrary } from '@tenon/binary'

/** The file of a library: a path as it is written, or a bare name that the system's loader searches for, as `Library.open()` does. */
export function libraryPath(library: string): string {
  return library.includes('/') || existsSync(library) ? library : (findLibrary(library) ?? library)
}
