import { existsSync } from 'node:fs'
import { basename, delimiter, dirname, join } from 'node:path'
import { provided, type LibrarySearch, type Requester } from './library-search.ts'
import { readBinary } from '../read-binary.ts'

/** The search of Windows: beside the DLL that is opened, beside the program, in the system's directories, in PATH. */
export function dllSearch(environment: NodeJS.ProcessEnv): LibrarySearch {
  const windows = environment['SystemRoot'] ?? 'C:\\Windows'
  const directories = [
    dirname(process.execPath),
    join(windows, 'System32'),
    windows,
    ...(environment['PATH'] ?? '').split(delimiter).filter(Boolean),
  ]
  // The directory of the DLL that the program opened is searched for all of its dependencies.
  const handedDown = ({ inherited, path }: Requester): readonly string[] =>
    inherited.length > 0 ? inherited : [dirname(path)]
  return {
    read: readBinary,
    handedDown,
    find(name, requester) {
      // The loader maps API sets to DLLs itself. Addons name the program that loads them.
      if (/^(api|ext)-ms-/i.test(name) || name.toLowerCase() === basename(process.execPath).toLowerCase())
        return provided
      return [...handedDown(requester), ...directories].map((directory) => join(directory, name)).find(existsSync)
    },
  }
}
