import { basename } from 'node:path'
import { provided } from './library-search.ts'
import { type SearchOptions, systemSearch } from './system-search.ts'

/**
 * Finds the file of a library that the system's loader searches for by a bare name, as for the program that runs. Nothing is loaded.
 *
 * @param name of the file, such as `libm.so.6`
 * @param options the system and the environment searched; for tests
 * @returns the path, or undefined if there is none, also for a library that the system has without a file
 */
export function findLibrary(name: string, options: SearchOptions = {}): string | undefined {
  const search = systemSearch(options)
  if (search === undefined) return undefined
  const program = process.execPath
  const file = basename(name)
  const found = search.find(file, { ...search.read(program), path: program, inherited: [] })
  return found === provided ? search.loadedPath?.(file) : found
}
