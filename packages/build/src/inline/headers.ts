import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { packageDirectory } from '../package-directory.ts'
import { headersDirectory } from '../project/headers.ts'
import { ToolError } from '../tool-error.ts'

/** The directory of the headers, or undefined, by the working directory. */
const found = new Map<string, string | undefined>()

/**
 * Finds the directory of Tenon's C headers, as the program, the working directory or this package finds it. Returns undefined if Tenon
 * is not installed, because a source may need no headers.
 */
export function findHeaders(): string | undefined {
  const directory = process.cwd()
  if (!found.has(directory)) found.set(directory, searchHeaders(directory))
  return found.get(directory)
}

function searchHeaders(directory: string): string | undefined {
  const program = process.argv[1]
  for (const from of [...(program === undefined ? [] : [dirname(program)]), directory, packageDirectory]) {
    try {
      return headersDirectory(from)
    } catch (error) {
      if (!(error instanceof ToolError)) throw error
    }
  }
  return undefined
}

/** The digests of files, with the time and size that they had. */
const digests = new Map<string, { readonly version: string; readonly digest: string }>()

/** Returns a digest of the paths and contents of all headers in some directories. A directory that is missing counts as empty. */
export function hashHeaderFiles(directories: readonly string[]): string {
  const hash = createHash('sha256')
  for (const path of [...new Set(directories)].flatMap(headersIn)) hash.update(`${path}\0${digestOf(path)}\n`)
  return hash.digest('hex')
}

/** Sources are also included by name, and headers of C++ may have no extension. */
const included = /^[^.]+$|\.(h|hh|hpp|hxx|h\+\+|cuh|inc|inl|ipp|def|c|cc|cpp|cu)$/

function headersIn(directory: string): string[] {
  try {
    return readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory() && included.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name))
      .toSorted()
  } catch {
    return []
  }
}

function digestOf(path: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(path)
    const version = `${mtimeMs} ${size} ${ino}`
    const known = digests.get(path)
    if (known?.version === version) return known.digest
    const digest = createHash('sha256').update(readFileSync(path)).digest('hex')
    digests.set(path, { version, digest })
    return digest
  } catch {
    return 'unreadable'
  }
}
