import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'

import { captureTool } from '../lib/run-tool.ts'
import type { WorkspacePackage } from '../lib/workspace.ts'

/** TypeScript's own strictest settings for the declarations of others. */
const options = ['--noEmit', '--strict', '--skipLibCheck', 'false', '--module', 'nodenext', '--lib', 'esnext']

/**
 * Type-checks the built declarations of the packages as a user's compiler does who looks into libraries: what `@internal`
 * took away must not be missed by what stayed.
 */
export async function checkDeclarations(packages: readonly WorkspacePackage[]): Promise<string[]> {
  const files = packages
    .map(({ directory }) => join(directory, 'dist'))
    .filter((directory) => existsSync(directory))
    .flatMap((directory) => globSync('*.d.ts', { cwd: directory }).map((file) => join(directory, file)))
  const result = await captureTool('tsc', [...options, '--types', 'node', '--ignoreConfig', ...files])
  return result.code === 0 ? [] : [`the built declarations don't compile\n${result.stdout}${result.stderr}`]
}
