import { spawn } from 'node:child_process'
import { constants } from 'node:os'

/** The exit status and the output of a process. */
export interface CommandResult {
  /** The exit code, or null if a signal ended the process. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** The options of {@link runCommand}. */
export interface CommandOptions {
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
}

/**
 * Runs a program and waits for its end.
 *
 * @throws the system's error, with `code` `ENOENT` if the program does not exist.
 */
export function runCommand(
  file: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    const stdout: Buffer[] = []
    const stderr: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk))
    child.on('error', reject)
    child.on('close', (code, signal) => {
      resolve({ code, signal, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() })
    })
  })
}

/** Describes the end of a process: `exit code 3`, `SIGSEGV (signal 11)`. */
export function describeEnd(result: CommandResult): string {
  return result.signal ? `${result.signal} (signal ${constants.signals[result.signal]})` : `exit code ${result.code}`
}
