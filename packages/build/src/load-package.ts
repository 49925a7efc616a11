import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { ToolError } from './tool-error.ts'
import { isShipped, type NativePackage, type NativeTarget } from './targets.ts'

/** A package with native targets. */
export interface LoadedPackage {
  readonly directory: string
  readonly name: string
  readonly version: string
  readonly native: NativePackage
  /** Called with the messages of a compiler that has succeeded. By default they are dropped. */
  readonly onWarning?: ((text: string) => void) | undefined
}

/**
 * Reads `native.targets.ts` and `package.json` of a directory.
 *
 * @throws {ToolError} if one is missing, or the table is not valid.
 */
export async function loadPackage(directory: string): Promise<LoadedPackage> {
  const tablePath = join(directory, 'native.targets.ts')
  if (!existsSync(tablePath))
    throw new ToolError(`${directory} does not contain native.targets.ts. Run this in a package that does.`)
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
    if (earlier.has(target.name)) throw new ToolError(`${tablePath}: two targets have the name ${target.name}`)
    for (const used of target.uses ?? []) {
      if (earlier.get(used)?.kind !== 'shared') {
        throw new ToolError(`${tablePath}: ${target.name} uses ${used}, which must be an earlier shared target`)
      }
    }
    if (isShipped(target) && !Array.isArray(target.imports)) {
      throw new ToolError(`${tablePath}: ${target.name} must have imports, the list of symbols that it may import`)
    }
    earlier.set(target.name, target)
  }
}
