import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

/** A file of C, C++ or assembly, and the parts of it that connect it with other files. */
export interface CFile {
  /** The path relative to the package. */
  readonly path: string
  /** The paths of the files of the package that it includes. */
  readonly includes: readonly string[]
  /** The global symbols that it defines. */
  readonly defined: readonly string[]
  /** The global symbols that it uses. Of a header, the names in its macros and in the bodies of its inline functions. */
  readonly used: readonly string[]
}

/** Whether a path is that of a file that others include. */
export function isHeader(path: string): boolean {
  return /\.(h|hh|def|inc)$/.test(path)
}

/**
 * Lists the files of a package that a file includes with quotes. A name is looked up in the directory of the file, and then in `directories`, as
 * the compiler does. Files outside the package, such as those of the system, are left out.
 */
export function listIncludes(directory: string, path: string, directories: readonly string[]): string[] {
  const text = withoutComments(readFileSync(join(directory, path), 'utf8'))
  return Array.from(text.matchAll(/^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"/gm), ([, name]) => name!).flatMap((name) => {
    const candidates = [posix.dirname(path), ...directories].map((folder) => posix.join(folder, name))
    return candidates.find((candidate) => existsSync(join(directory, candidate))) ?? []
  })
}

/** Reads the headers that files of a package include, directly or through others. */
export function readHeaders(directory: string, files: readonly CFile[], directories: readonly string[]): CFile[] {
  const headers = new Map<string, CFile>()
  const waiting = files.flatMap((file) => file.includes)
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (headers.has(path)) continue
    const included = listIncludes(directory, path, directories)
    const text = readFileSync(join(directory, path), 'utf8')
    headers.set(path, { path, includes: included, defined: [], used: namesInBodies(text) })
    waiting.push(...included)
  }
  return [...headers.values()]
}

/**
 * Returns the names in the macros of a header and in braces. These are the names that its inline functions use, and others that do not
 * matter, such as members of structs.
 */
export function namesInBodies(header: string): string[] {
  const text = withoutComments(header).replace(/"(\\.|[^"\\\n])*"/g, '""')
  const macros = Array.from(text.matchAll(/^[ \t]*#[ \t]*define[ \t]+\w+((?:\\\n|.)*)/gm), ([, body]) => body!)
  const code = text.replace(/^[ \t]*#(\\\n|.)*/gm, '').replace(/\bextern\s*""\s*\{/g, '')
  const names = new Set(macros.flatMap((body) => body.match(/[A-Za-z_]\w*/g) ?? []))
  let depth = 0
  for (const [token] of code.matchAll(/[{}]|[A-Za-z_]\w*/g)) {
    if (token === '{') depth++
    else if (token === '}') depth = Math.max(0, depth - 1)
    else if (depth > 0) names.add(token)
  }
  return [...names]
}

function withoutComments(text: string): string {
  return text.replace(/"(\\.|[^"\\\n])*"|\/\*[^]*?\*\/|\/\/.*/g, (match) => (match.startsWith('"') ? match : ' '))
}
