import { join } from 'node:path'

import { type CommandResult, runCommand } from '@tenon/build/internal'

import { root } from './root.ts'

export function runNativeBuild(
  directory: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<CommandResult> {
  const script = join(root, 'packages/build/src/bin/build.ts')
  const options = { cwd: directory, env: { ...process.env, ...env } }
  return runCommand(process.execPath, ['--conditions=@tenon/source', script, ...args], options)
}
