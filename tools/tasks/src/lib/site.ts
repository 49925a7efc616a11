import { join } from 'node:path'

import { ToolError } from '@tenon/build'

import { root } from './root.ts'
import { capturePnpm, runVisibly } from './run-tool.ts'

const site = join(root, 'docs/site')

/**
 * Installs the tools of the documentation site, and runs Node.js in its folder.
 *
 * @param env further variables. @throws {ToolError} if one of them fails.
 */
export async function runInSite(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<void> {
  const installed = await capturePnpm(['install', '--frozen-lockfile'], { cwd: site })
  if (installed.code !== 0)
    throw new ToolError(`the tools of the site could not be installed:\n${installed.stdout}${installed.stderr}`)
  const code = await runVisibly(process.execPath, [...args], { cwd: site, env })
  if (code !== 0) throw new ToolError(`node ${args.join(' ')} ended with ${code}`)
}
