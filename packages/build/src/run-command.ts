import { spawn } from 'node:child_process'
import { constants } from 'node:os'

import { killGroup } from './inline/kill-group.ts'
import { onProcessEnd } from './inline/on-process-end.ts'

/** The exit status and the output of a process. */
export interface CommandResult {
  /** The exit code, or null if a signal ended the process. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  /** Why the process was ended before it was done. */
  readonly exceeded?: 'time' | 'output'
}

/** The options of {@link runCommand}. */
export interface CommandOptions {
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
  /** How long the program may run, in milliseconds. By default without a limit. */
  readonly timeout?: number
  /** How many bytes it may print. By default without a limit. */
  readonly outputLimit?: number
}

/**
 * Runs a program and waits for its end.
 *
 * @throws the system's error, with `code` `ENOENT` if the program does not exist.
 */
export function runCommand(
  file: string,
  args: readonly string[],
  { timeout, outputLimit = Infinity, ...options }: CommandOptions = {},
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    // Compilers start other programs, which end with them as a group.
    const detached = timeout !== undefined && process.platform !== 'win32'
    const child = spawn(file, args, { ...options, detached, stdio: ['ignore', 'pipe', 'pipe'] })
    let exceeded: CommandResult['exceeded']
    const kill = (): void => {
      if (detached && child.pid !== undefined) killGroup(child.pid)
      else child.kill('SIGKILL')
    }
    const end = (reason: 'time' | 'output'): void => {
      exceeded ??= reason
      kill()
    }
    const stopWatching = detached ? onProcessEnd(kill) : undefined
    const timer = timeout === undefined ? undefined : setTimeout(end, timeout, 'time')
    let size = 0
    const collect = (chunks: Buffer[]) => (chunk: Buffer) => {
      size += chunk.length
      if (size <= outputLimit) chunks.push(chunk)
      else end('output')
    }
    const stdout: Buffer[] = []
    const stderr: Buffer[] = []
    child.stdout.on('data', collect(stdout))
    child.stderr.on('data', collect(stderr))
    child.on('error', (error) => {
      clearTimeout(timer)
      stopWatching?.()
      reject(error)
    })
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      stopWatching?.()
      const result = {
        code,
        signal,
        stdout: Buffer.concat(stdout).toString(),
        stderr: Buffer.concat(stderr).toString(),
      }
      resolve(exceeded === undefined ? result : { ...result, exceeded })
    })
  })
}

/** Describes the end of a process: `exit code 3`, `SIGSEGV (signal 11)`. */
export function describeEnd(result: CommandResult): string {
  return result.signal ? `${result.signal} (signal ${constants.signals[result.signal]})` : `exit code ${result.code}`
}
