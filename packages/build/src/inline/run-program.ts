import { spawn, spawnSync } from 'node:child_process'

import { hostPlatform } from '../platform.ts'
import { killGroup } from './kill-group.ts'
import { onProcessEnd } from './on-process-end.ts'
import { giveSlot, takeSlot } from './slots.ts'

/** A program that a step of a compilation runs. */
export interface Program {
  readonly file: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** In milliseconds. */
  readonly timeout: number
}

/** How a program ended. */
export interface Ended {
  /** Null if the program did not start, or a signal ended it. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly output: string
  readonly stdout: string
  readonly isTimedOut: boolean
  /** The error of the system if the program did not start. */
  readonly error?: NodeJS.ErrnoException
}

/** Steps that run programs one after the other. The caller decides whether it waits. */
export type Steps<T> = Generator<Program, T, Ended>

/** The longest output that is kept. In bytes. */
const KEPT_OUTPUT = 1 << 20

/** The longest delay of a timer. */
const LONGEST = 2 ** 31 - 1

/** A compiler is a group of processes, which end together. Windows would open a window for a group. */
const detached = hostPlatform.os !== 'win32'

/** Runs the programs of the steps, and blocks the thread until each has ended. */
export function runStepsSync<T>(steps: Steps<T>): T {
  let step = steps.next()
  while (!step.done) step = steps.next(runSync(step.value))
  return step.value
}

/** Runs the programs of the steps. @throws the reason of the signal when it is aborted, after the program was ended */
export async function runSteps<T>(steps: Steps<T>, signal: AbortSignal | undefined): Promise<T> {
  let step = steps.next()
  try {
    while (!step.done) {
      const ended = await runInSlot(step.value, signal)
      if (signal?.aborted === true) throw signal.reason
      step = steps.next(ended!)
    }
    return step.value
  } finally {
    // Runs the finally blocks of steps that were given up.
    steps.return(undefined as never)
  }
}

/** Returns undefined if the signal was aborted before the program could start. */
async function runInSlot(program: Program, signal: AbortSignal | undefined): Promise<Ended | undefined> {
  if (!(await takeSlot(signal))) return undefined
  try {
    return await run(program, signal)
  } finally {
    giveSlot()
  }
}

function runSync({ file, args, env, timeout }: Program): Ended {
  const options = {
    env,
    // Undocumented for this function, and understood by all versions of Node.js.
    detached,
    windowsHide: true,
    stdio: 'pipe' as const,
    maxBuffer: 64 * KEPT_OUTPUT,
    killSignal: 'SIGKILL' as const,
    timeout: Math.min(timeout, LONGEST),
  }
  const child = spawnSync(file, args, options)
  const { error, status, signal, pid } = child
  // Only the compiler itself was ended, and not the programs that it runs.
  if (signal !== null && pid > 0) killGroup(pid)
  const isTimedOut = (error as NodeJS.ErrnoException | undefined)?.code === 'ETIMEDOUT'
  // There is no output if the program did not start.
  const outputs = child.output as readonly (Buffer | null)[] | null
  return endOf(status, signal, outputs?.[1] ?? empty, outputs?.[2] ?? empty, isTimedOut, error)
}

const empty = Buffer.alloc(0)

function run({ file, args, env, timeout }: Program, abort: AbortSignal | undefined): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(file, args, { env, detached, windowsHide: true, stdio: ['ignore', 'pipe', 'pipe'] })
    let isTimedOut = false
    const end = (): void => {
      if (child.pid === undefined) return
      if (detached) killGroup(child.pid)
      else child.kill('SIGKILL')
    }
    const stopWatching = onProcessEnd(end)
    const timer = setTimeout(
      () => {
        isTimedOut = true
        end()
      },
      Math.min(timeout, LONGEST),
    )
    abort?.addEventListener('abort', end)
    const stdout = collect(child.stdout)
    const stderr = collect(child.stderr)
    const settle = (code: number | null, signal: NodeJS.Signals | null, error?: Error): void => {
      clearTimeout(timer)
      stopWatching()
      abort?.removeEventListener('abort', end)
      resolve(endOf(code, signal, Buffer.concat(stdout), Buffer.concat(stderr), isTimedOut, error))
    }
    child.on('error', (error) => {
      if (child.pid === undefined) settle(null, null, error)
    })
    child.on('close', (code, signal) => settle(code, signal))
  })
}

/** The chunks of a stream up to the kept length. What follows is read and dropped, because the program would wait otherwise. */
function collect(stream: NodeJS.ReadableStream): Buffer[] {
  const chunks: Buffer[] = []
  let length = 0
  stream.on('data', (chunk: Buffer) => {
    if (length < KEPT_OUTPUT) chunks.push(chunk)
    length += chunk.length
  })
  return chunks
}

function endOf(
  code: number | null,
  signal: NodeJS.Signals | null,
  stdout: Buffer,
  stderr: Buffer,
  isTimedOut: boolean,
  error: Error | undefined,
): Ended {
  const out = stdout.toString('utf8', 0, KEPT_OUTPUT)
  return {
    code,
    signal,
    stdout: out,
    output: stderr.toString('utf8', 0, KEPT_OUTPUT) + out,
    isTimedOut,
    ...(error === undefined || isTimedOut ? {} : { error }),
  }
}
