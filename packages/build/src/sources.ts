import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { ToolError } from './tool-error.ts'
import { choosePlatform, type Platform } from './platform.ts'
import { hashOf } from './stamps.ts'
import type { NativeTarget } from './targets.ts'

/** Returns sorted paths relative to the package. @throws {ToolError} if a glob matches no file. */
export function findSources(directory: string, target: NativeTarget, platform: Platform): string[] {
  const found = new Set<string>()
  for (const pattern of target.sources.map((source) => choosePlatform(source, platform))) {
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
  const headers = [...folders].flatMap((folder) => globSync(`${folder}/**/*.{h,hh,def,inc}`, { cwd: directory }))
  return hashOf([...new Set(headers)].toSorted().flatMap((header) => [header, readFileSync(join(directory, header))]))
}
