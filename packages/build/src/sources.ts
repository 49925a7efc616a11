import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { ToolError } from './tool-error.ts'
import { choosePlatform } from './platform.ts'
import type { NativeTarget } from './targets.ts'

/**
 * Finds the source files of a target, relative to the package, sorted.
 *
 * @throws {ToolError} if a glob matches no file.
 */
export function findSources(directory: string, target: NativeTarget): string[] {
  const found = new Set<string>()
  for (const pattern of target.sources.map((source) => choosePlatform(source))) {
    const matches = globSync(pattern, { cwd: directory })
    if (matches.length === 0) throw new ToolError(`${target.name}: no source matches ${pattern} in ${directory}`)
    for (const match of matches) found.add(match.replaceAll('\\', '/'))
  }
  return [...found].toSorted()
}

/**
 * Hashes every header that the sources could include: all headers in the include directories, and in the top folders of the
 * package that contain the sources, because a source may include `../../lock.h`.
 */
export function hashHeaders(directory: string, target: NativeTarget, sources: readonly string[]): string {
  const folders = new Set([...(target.includes ?? []), ...sources.map((source) => dirname(source).split('/', 1)[0]!)])
  const hash = createHash('sha256')
  for (const folder of [...folders].toSorted()) {
    const path = join(directory, folder)
    if (!existsSync(path)) continue
    for (const header of globSync('**/*.{h,hh,def,inc}', { cwd: path }).toSorted()) {
      hash
        .update(`${folder}/${header}\0`)
        .update(readFileSync(join(path, header)))
        .update('\0')
    }
  }
  return hash.digest('hex')
}
