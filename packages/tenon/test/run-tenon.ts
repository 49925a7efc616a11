import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { runtime } from '@tenon/core/internal'

/** The built command, as users run it. */
export const tenonProgram: string = fileURLToPath(new URL('../dist/cli.cjs', import.meta.url))

/** The command line that runs {@link tenonProgram} in this runtime, to which a test adds its arguments. */
export const tenonCommand: readonly [program: string, ...args: string[]] = [
  process.execPath,
  ...runtime.fileArguments([], tenonProgram),
]

/** The same in the language of shells. */
export const tenonShellCommand: string = tenonCommand.map((word) => `"${word}"`).join(' ')

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs `tenon` in a new process. */
export function runTenon(
  args: readonly string[],
  options: { readonly cwd?: string; readonly environment?: NodeJS.ProcessEnv } = {},
): Finished {
  const { status, stdout, stderr, error } = spawnSync(process.execPath, [tenonProgram, ...args], {
    cwd: options.cwd,
    env: { ...process.env, NO_COLOR: undefined, ...options.environment },
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  if (error !== undefined) throw error
  return { code: status, stdout, stderr }
}
