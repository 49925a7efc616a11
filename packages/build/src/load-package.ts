import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { ToolError } from './tool-error.ts'
import type { NativePackage, NativeTarget } from './targets.ts'

/** A package with native targets, as the tools see it. */
export interface LoadedPackage {
  readonly directory: string
  readonly name: string
  readonly version: string
  readonly native: NativePackage
}

/**
 * Reads `native.targets.ts` and `package.json` of a directory.
 *
 * @throws {ToolError} if one is missing, or the table contradicts itself.
 */
export async function loadPackage(directory: string): Promise<LoadedPackage> {
  const tablePath = join(directory, 'native.targets.ts')
  if (!existsSync(tablePath))
    throw new ToolError(`No native.targets.ts in ${directory}: run this in a package that has one`)
  const { name, version } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
    name: string
    version: string
  }
  const table = (await import(pathToFileURL(tablePath).href)) as { default?: NativePackage }
  if (!table.default) throw new ToolError(`${tablePath} must have a NativePackage as its default export`)
  checkTargets(table.default.targets, tablePath)
  return { directory, name, version, native: table.default }
}

function checkTargets(targets: readonly NativeTarget[], tablePath: string): void {
  const earlier = new Map<string, NativeTarget>()
  for (const target of targets) {
    if (earlier.has(target.name)) throw new ToolError(`${tablePath}: two targets are called ${target.name}`)
    for (const used of target.uses ?? []) {
      if (earlier.get(used)?.kind !== 'shared') {
        throw new ToolError(
          `${tablePath}: ${target.name} uses ${used}, which is no shared target before it in the table`,
        )
      }
    }
    if (target.kind === 'shared' && !Array.isArray(target.imports)) {
      throw new ToolError(`${tablePath}: ${target.name} has no "imports", the list of symbols it may import`)
    }
    earlier.set(target.name, target)
  }
}
