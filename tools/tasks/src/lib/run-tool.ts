import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

import { ToolError } from '@tenon/build'
import { type CommandOptions, type CommandResult, runCommand } from '@tenon/build/internal'

import { root } from './root.ts'

const windows = process.platform === 'win32'

const quiet = { TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1' }

function toolPath(name: string): string {
  return join(root, 'node_modules/.bin', windows ? `${name}.CMD` : name)
}

export function runTool(name: string, args: readonly string[], options: CommandOptions = {}): Promise<number> {
  return runVisibly(toolPath(name), args, options)
}

/** Runs a tool that prints nothing itself. Each line that it writes to stdout is read. @returns 1 if a signal ended the tool */
export function readTool(name: string, args: readonly string[], onLine: (line: string) => void): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(toolPath(name), args, { ...withDefaults({}), stdio: ['inherit', 'pipe', 'ignore'] })
    createInterface({ input: child.stdout }).on('line', onLine)
    child.on('error', reject)
    child.on('close', (code) => resolve(code ?? 1))
  })
}

export function captureTool(
  name: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  return runCommand(toolPath(name), args, withDefaults(options))
}

/** Runs the pnpm on PATH, because it runs this script. @throws {ToolError} if pnpm is not on PATH. */
export async function capturePnpm(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  try {
    return await runCommand('pnpm', args, withDefaults(options))
  } catch (cause) {
    throw new ToolError('pnpm is not on PATH. Run this as a script, with npx pnpm@12.', { cause })
  }
}

/** Inherits the output, and returns 1 if a signal ended the program. */
export function runVisibly(file: string, args: readonly string[], options: CommandOptions = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { ...withDefaults(options), stdio: 'inherit' })
    child.on('error', reject)
    child.on('close', (code) => resolve(code ?? 1))
  })
}

/** The environment without what the package manager that runs this program has set. */
export const withoutNpm = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^(?:p?npm_|yarn_|tenon_|node_options$|node_path$)/i.test(name)),
  )

function withDefaults(options: CommandOptions): CommandOptions & { shell: boolean } {
  return { cwd: root, shell: windows, ...options, env: { ...process.env, ...quiet, ...options.env } }
}
