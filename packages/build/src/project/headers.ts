import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'

import { ToolError } from '../tool-error.ts'

/**
 * Finds the directory of Tenon's C headers: that of `@tenon/core` as a package in the directory `from` finds it, or else as its
 * `tenon` finds it.
 *
 * @param from may be relative: a thread that runs a text has no file.
 *
 * @throws {ToolError} if neither is installed
 */
export function headersDirectory(from: string): string {
  const own = createRequire(resolve(from, 'package.json'))
  const tenon = resolveFrom(own, 'tenon/package.json')
  const core =
    resolveFrom(own, '@tenon/core/package.json') ??
    (tenon === undefined ? undefined : resolveFrom(createRequire(tenon), '@tenon/core/package.json'))
  if (core !== undefined) return join(dirname(core), 'include')
  throw new ToolError(`the C headers of Tenon were not found from ${from}.\nInstall tenon there: npm install tenon`)
}

function resolveFrom(require: NodeJS.Require, name: string): string | undefined {
  try {
    return require.resolve(name)
  } catch {
    return undefined
  }
}
