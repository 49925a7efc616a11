import { existsSync } from 'node:fs'
import { FUNCTIONS } from '../generated/functions.ts'
import { corePackage, libraryFileName } from './locate.ts'
import { fileBesideCore } from './library-functions.ts'

/**
 * The version and the files of the native core of this process, for a bundle that contains them.
 *
 * @throws {LoadError} if the core cannot be loaded, or a file is not the one that was published
 */
export function coreFiles(): { readonly version: string; readonly paths: readonly string[] } {
  const names = [...Object.keys(FUNCTIONS), 'tenon_guard'].map(libraryFileName)
  const paths = [...names, 'tenon.node', 'tenon-host'].map(fileBesideCore)
  return { version: corePackage().version, paths: paths.filter((path) => existsSync(path)) }
}
