import { resolve } from 'node:path'
import { provided, type Requester } from './library-search.ts'
import { type SearchOptions, systemSearch } from './system-search.ts'

/** A library that the system's loader cannot find. */
export interface MissingLibrary {
  readonly name: string
  /** The path of the file that needs it. */
  readonly neededBy: string
}

/**
 * Returns the libraries that a file needs, directly or through others, and that this system's loader cannot find. The
 * loader's own message names only one of them, or none on some systems.
 *
 * @param path of a shared library for this system
 * @param options the system and the environment searched; for tests
 * @returns an empty array if all can be found, or if the search of this system is not known
 * @throws {BinaryFormatError} if `path` is not a library for this system
 * @throws the system's error (ENOENT, EACCES, ...) if it cannot be opened
 */
export function missingDependencies(path: string, options: SearchOptions = {}): MissingLibrary[] {
  const search = systemSearch(options)
  if (search === undefined) return []
  const missing = new Map<string, MissingLibrary>()
  const seen = new Set<string>()
  const waiting: Requester[] = [{ ...search.read(path), path: resolve(path), inherited: [] }]
  for (let requester = waiting.pop(); requester !== undefined; requester = waiting.pop()) {
    const inherited = search.handedDown(requester)
    for (const name of requester.needed) {
      if (seen.has(name)) continue
      const found = search.find(name, requester)
      if (found === undefined) {
        missing.set(name, { name, neededBy: requester.path })
        continue
      }
      // Another file may find what this one cannot, so only libraries that were found are final.
      seen.add(name)
      missing.delete(name)
      try {
        if (found !== provided) waiting.push({ ...search.read(found), path: found, inherited })
      } catch {
        // The library was found. The loader reports why it cannot be read.
      }
    }
  }
  return [...missing.values()]
}
