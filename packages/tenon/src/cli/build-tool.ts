import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { UsageError } from './usage-error.ts'

/** The exports of `@tenon/build`. */
export type BuildTool = typeof import('@tenon/build')

/**
 * Loads `@tenon/build` as the project in the working directory finds it, or else as `tenon` finds it. `tenon` does not depend on it, so
 * that users of a package of kernels do not install it.
 *
 * @param command the name of the command, for the error
 * @throws {UsageError} with the command that installs it
 */
export async function loadBuildTool(command: string): Promise<BuildTool> {
  const path = find(join(process.cwd(), 'package.json')) ?? find(import.meta.url)
  if (path !== undefined) return (await import(pathToFileURL(path).href)) as BuildTool
  throw new UsageError(
    `tenon ${command} needs @tenon/build, which is not installed`,
    command === 'new'
      ? 'Run npx -p tenon -p @tenon/build tenon new kernel NAME.'
      : 'Install it: npm install --save-dev @tenon/build',
  )
}

function find(from: string): string | undefined {
  try {
    return createRequire(from).resolve('@tenon/build')
  } catch {
    return undefined
  }
}
