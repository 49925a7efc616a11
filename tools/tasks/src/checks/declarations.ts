import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'

import { captureTool } from '../lib/run-tool.ts'
import type { WorkspacePackage } from '../lib/workspace.ts'

/** The strictest settings for declarations of libraries. */
const options = ['--noEmit', '--strict', '--skipLibCheck', 'false', '--module', 'nodenext', '--lib', 'esnext']

/**
 * Type-checks the built declarations of the packages like the compiler of a user who checks libraries. Declarations must not
 * refer to names that were removed because of `@internal`.
 */
export async function checkDeclarations(packages: readonly WorkspacePackage[]): Promise<string[]> {
  const files = packages
    .map(({ directory }) => join(directory, 'dist'))
    .filter((directory) => existsSync(directory))
    .flatMap((directory) => globSync('*.d.ts', { cwd: directory }).map((file) => join(directory, file)))
  const result = await captureTool('tsc', [...options, '--types', 'node', '--ignoreConfig', ...files])
  return result.code === 0 ? [] : [`the built declarations do not compile\n${result.stdout}${result.stderr}`]
}
