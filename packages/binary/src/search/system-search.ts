import { dllSearch } from './dll-search.ts'
import { dyldSearch } from './dyld-search.ts'
import { elfSearch } from './elf-search.ts'
import type { LibrarySearch } from './library-search.ts'

const searches: Readonly<Record<string, (environment: NodeJS.ProcessEnv) => LibrarySearch>> = {
  darwin: dyldSearch,
  linux: elfSearch,
  win32: dllSearch,
}

/** The system and the environment of a search; by default those of this process. */
export interface SearchOptions {
  readonly platform?: string
  readonly environment?: NodeJS.ProcessEnv
}

/** Returns the search of a system's loader, or undefined if it is not known. */
export function systemSearch({ platform, environment }: SearchOptions): LibrarySearch | undefined {
  return searches[platform ?? process.platform]?.(environment ?? process.env)
}
