import { resolve } from 'node:path'
import { dllSearch } from './dll-search.ts'
import { dyldSearch } from './dyld-search.ts'
import { elfSearch } from './elf-search.ts'
import { provided, type Dependencies, type LibrarySearch, type Requester } from './library-search.ts'

/** A library that the system's loader won't find. */
export interface MissingLibrary {
  readonly name: string
  /** The path of the file that asks for it. */
  readonly neededBy: string
}

const searches: Readonly<Record<string, (environment: NodeJS.ProcessEnv) => LibrarySearch>> = {
  darwin: dyldSearch,
  linux: elfSearch,
  win32: dllSearch,
}

/**
 * The libraries that `path` needs, itself or through others, and that this system's loader can't find. What the loader
 * reports names only one, and on some systems none.
 *
 * @param path of a shared library for this system
 * @param options the system and the environment searched; for tests
 * @returns empty if all are there, or if this system's search is not known
 * @throws {BinaryFormatError} if `path` is no library for this system
 * @throws the system's error (ENOENT, EACCES, ...) if it can't be opened
 */
export function missingDependencies(
  path: string,
  options: { readonly platform?: string; readonly environment?: NodeJS.ProcessEnv } = {},
): MissingLibrary[] {
  const search = searches[options.platform ?? process.platform]?.(options.environment ?? process.env)
  if (search === undefined) return []
  const missing = new Map<string, MissingLibrary>()
  const seen = new Set<string>()
  const waiting: Requester[] = [{ ...search.read(path), path: resolve(path), inherited: [] }]
  for (let requester = waiting.pop(); requester !== undefined; requester = waiting.pop()) {
    const inherited = search.handedDown(requester)
    for (const name of requester.needed) {
      if (seen.has(name)) continue
      const found = search.find(name, requester)
      if (found === undefined) missing.set(name, { name, neededBy: requester.path })
      else {
        // What one file can't find another one may: only libraries that were found are done with.
        seen.add(name)
        missing.delete(name)
        const dependencies = found === provided ? undefined : tryRead(search, found)
        if (dependencies !== undefined) waiting.push({ ...dependencies, path: found, inherited })
      }
    }
  }
  return [...missing.values()]
}

/** A library found that can't be read is the loader's to report: it has been found. */
function tryRead(search: LibrarySearch, path: string): Dependencies | undefined {
  try {
    return search.read(path)
  } catch {
    return undefined
  }
}
