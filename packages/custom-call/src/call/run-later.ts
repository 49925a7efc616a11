import {
  checkLimits,
  checkOptions,
  coreFunctions,
  type CoreFunctions,
  guardMode,
  isTraced,
  newTrace,
  runJob,
  submitJob,
  traceLater,
  type Gated,
} from '@tenon/core/internal'
import type { Runnable } from './call-target.ts'
import { refused } from '../errors/xla-error-classes.ts'
import { stagedBytes, type CallFrame } from '../native/call-frame.ts'
import type { CallShape } from '../shape/call-shape.ts'
import { findDamageOf } from './guarded-run.ts'

/**
 * The options of an asynchronous run. A run that has not started when it is aborted, or at its deadline, is cancelled. Kernels
 * are not interrupted: if the run has started, the promise rejects at once, and the tensors are held open until the kernel
 * returns, for which the event loop does not wait.
 */
export interface RunAsyncOptions {
  /** The promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** The time in milliseconds, from 1 to 2^31 - 1, after which the promise rejects with a `DeadlineExceededError`. */
  readonly deadline?: number | undefined
}

/** The names of the options. */
export const ASYNC_OPTIONS = ['signal', 'deadline'] as const

/** A run that is ready: everything is checked and written, and nothing is held yet. */
export interface LaterRun {
  readonly target: Runnable
  readonly frame: CallFrame
  /** The operands that are held until the run is over. */
  readonly held: readonly Gated[]
  /** Called once, when the run is over and holds nothing any more, or was not started. */
  end?(): void
}

const NO_LIMITS: RunAsyncOptions = Object.freeze({})

/** Runs a call on a thread of the core. @param begin prepares the run; the promise rejects with what it throws. */
export async function runLater(options: RunAsyncOptions | undefined, begin: () => LaterRun): Promise<void> {
  const limits = options === undefined ? NO_LIMITS : readRunOptions(options)
  limits.signal?.throwIfAborted()
  const run = begin()
  const { target, frame, held } = run
  const { streams } = target
  frame.running = true
  return runJob<void>(
    {
      held,
      start: (done) => submit(target, frame, done),
      settle: (status) => {
        const failure = status === 0 ? undefined : target.failure(frame, status)
        const error = guardMode ? (findDamageOf(held, frame.staged, failure) ?? failure) : failure
        for (const stream of streams) stream.keep?.(held)
        if (error !== undefined) throw error
        if (streams.length > 0) return finished(streams)
      },
      end: () => {
        frame.running = false
        run.end?.()
      },
      late: (deadline) => missedDeadline(target.name, deadline),
    },
    limits,
  )
}

async function finished(streams: Runnable['streams']): Promise<void> {
  await Promise.all(streams.map((stream) => stream.finished?.()))
}

/** Starts a run of a prepared call between its events, if it is traced. */
export function traceRun(
  { target, shape }: { readonly target: Runnable; readonly shape: CallShape },
  begin: () => Promise<void>,
): Promise<void> {
  if (!isTraced()) return begin()
  const trace = newTrace(target.name, target.convention, shape.types.slice(0, shape.operandCount), true)
  return traceLater(trace, () => {
    const before = stagedBytes
    const promise = begin()
    trace.copiedBytes = stagedBytes - before
    return promise
  })
}

/** The functions of the core, after the first run. */
let core: CoreFunctions | undefined

function submit(target: Runnable, frame: CallFrame, done: (status: number) => void): () => boolean {
  const { tn_xla_async_submit: start, tn_xla_async_cancel: cancel } = (core ??= coreFunctions())
  const { address } = frame
  const functions = {
    submit: (id: number, name: number, length: number, job: number) =>
      start(address, target.kind, id, name, length, job),
    cancel,
  }
  return submitJob(target.name, functions, done)
}

/**
 * Runs a call of another convention, whose promise rejects at once when the signal is aborted, and at the deadline.
 *
 * @param kernel the name of the kernel in messages.
 * @param run starts the call, with a signal that is aborted in both cases.
 * @throws {ArgumentError | ArgumentRangeError} (rejects with) if an option is invalid.
 */
export async function runUntil(
  kernel: string,
  options: RunAsyncOptions,
  run: (signal: AbortSignal | undefined) => Promise<void>,
): Promise<void> {
  const { signal, deadline } = readRunOptions(options)
  signal?.throwIfAborted()
  if (signal === undefined && deadline === undefined) return run(undefined)
  const ended = new AbortController()
  return new Promise((resolve, reject) => {
    const giveUp = (reason: unknown): void => {
      ended.abort(reason)
      reject(reason as Error)
    }
    const abort = (): void => giveUp(signal!.reason)
    signal?.addEventListener('abort', abort)
    // The run itself keeps the event loop running.
    const timer =
      deadline === undefined ? undefined : setTimeout(() => giveUp(missedDeadline(kernel, deadline)), deadline).unref()
    const end = (): void => {
      signal?.removeEventListener('abort', abort)
      clearTimeout(timer)
    }
    run(ended.signal).finally(end).then(resolve, reject)
  })
}

/** The error of a run that did not end in time. */
const missedDeadline = (kernel: string, deadline: number): Error =>
  refused('DEADLINE_EXCEEDED', kernel, `the call did not end within ${deadline} ms`)

/** Reads the options once. @throws {ArgumentError | ArgumentRangeError} if one is invalid */
function readRunOptions(options: RunAsyncOptions): RunAsyncOptions {
  const { signal, deadline } = checkOptions(options, ASYNC_OPTIONS)
  checkLimits({ signal, deadline })
  return { signal, deadline }
}
