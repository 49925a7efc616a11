import { existsSync } from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { provided, type LibrarySearch, type Requester } from './library-search.ts'
import { readBinary } from '../read-binary.ts'

/** The directories of macOS's own libraries. Most of these exist only in the loader's cache, not as files. */
const systemDirectories = ['/usr/lib/', '/System/']

/** The search of macOS's loader: @loader_path, @executable_path, and @rpath, which dependencies inherit (dyld(1)). */
export function dyldSearch(environment: NodeJS.ProcessEnv): LibrarySearch {
  const overrides = (environment['DYLD_LIBRARY_PATH'] ?? '').split(':').filter(Boolean)
  const handedDown = (requester: Requester): string[] => [
    ...requester.rpath.map((directory) => expand(directory, requester)),
    ...requester.inherited,
  ]
  return {
    read: readBinary,
    handedDown,
    find(name, requester) {
      if (systemDirectories.some((directory) => name.startsWith(directory))) return provided
      const file = basename(name)
      const candidates = name.startsWith('@rpath/')
        ? handedDown(requester).map((directory) => join(directory, name.slice('@rpath/'.length)))
        : [expand(name, requester)]
      const fallbacks = isAbsolute(name) ? [] : [`/usr/local/lib/${file}`, `/usr/lib/${file}`]
      return [...overrides.map((directory) => join(directory, file)), ...candidates, ...fallbacks].find(existsSync)
    },
  }
}

function expand(path: string, requester: Requester): string {
  return path
    .replace(/^@loader_path(?=\/|$)/, dirname(requester.path))
    .replace(/^@executable_path(?=\/|$)/, dirname(process.execPath))
}
