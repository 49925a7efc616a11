import {
  addressOf,
  checkOptions,
  checkStarted,
  coreFunctions,
  enterAll,
  exitAll,
  expectJob,
  forgetJob,
  guardMode,
  isPending,
  isTraced,
  newTrace,
  statusName,
  traceLater,
  unrefJob,
  wrongType,
  wrongValue,
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

/** The longest time of a timer in milliseconds. */
const LONGEST = 2 ** 31 - 1

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
export function runLater(options: RunAsyncOptions | undefined, begin: () => LaterRun): Promise<void> {
  return new Promise((resolve, reject) => {
    const { signal, deadline } = options === undefined ? NO_LIMITS : readRunOptions(options)
    signal?.throwIfAborted()
    const run = begin()
    const { target, frame, held } = run
    const { streams } = target
    let timer: NodeJS.Timeout | undefined
    const end = (): void => {
      frame.running = false
      run.end?.()
    }
    const finish = (): void => {
      exitAll(held)
      signal?.removeEventListener('abort', abort)
      if (timer !== undefined) clearTimeout(timer)
      end()
    }
    const giveUp = (reason: unknown): void => {
      if (cancel()) finish()
      reject(reason as Error)
    }
    const abort = (): void => giveUp(signal!.reason)
    const done = (status: number): void => {
      const failure = status === 0 ? undefined : target.failure(frame, status)
      const error = guardMode ? (findDamageOf(held, frame.staged, failure) ?? failure) : failure
      for (const stream of streams) stream.keep?.(held)
      finish()
      if (error !== undefined) reject(error)
      else if (streams.length === 0) resolve()
      else Promise.all(streams.map((stream) => stream.finished?.())).then(() => resolve(), reject)
    }
    let cancel: () => boolean
    frame.running = true
    try {
      // Code of the user has run, which may have aborted it.
      signal?.throwIfAborted()
      enterAll(held)
      try {
        cancel = submit(target, frame, done)
      } catch (error) {
        exitAll(held)
        throw error
      }
    } catch (error) {
      end()
      throw error
    }
    signal?.addEventListener('abort', abort)
    if (deadline !== undefined) {
      // The run itself keeps the event loop running.
      timer = setTimeout(() => giveUp(missedDeadline(target.name, deadline)), deadline).unref()
    }
  })
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

/** Where native code leaves the job of a run. */
const started = new BigUint64Array(1)
let startedAddress: number | undefined

/** The name of the last run, which usually is that of the next one. Native code copies it. */
let name = ''
let nameBytes = Buffer.alloc(0)
let nameAddress = 0

/**
 * Gives a run to the threads of the core.
 *
 * @param done is called from the event loop with the status of the run.
 * @returns a function that cancels the run if it has not started, so that `done` is not called, and returns whether it did.
 * The event loop does not wait for a run that has started after that.
 * @throws {ArgumentError} if the value of TENON_THREADS is not valid. @throws {NativeError} if the system has no thread left.
 */
function submit(target: Runnable, frame: CallFrame, done: (status: number) => void): () => boolean {
  const { tn_xla_async_submit: start, tn_xla_async_cancel: cancel } = coreFunctions()
  if (nameAddress === 0 || name !== target.name) {
    name = target.name
    nameBytes = Buffer.from(name)
    nameAddress = addressOf(nameBytes)
  }
  startedAddress ??= addressOf(started)
  const id = expectJob(done)
  const status = start(frame.address, target.kind, id, nameAddress, nameBytes.length, startedAddress)
  if (status !== 0) {
    forgetJob(id)
    checkStarted(status, `starting ${target.name}`)
  }
  const job = Number(started[0])
  return () => {
    if (!isPending(id)) return false
    if (statusName(cancel(job)) === 'OK') return forgetJob(id)
    unrefJob(id)
    return false
  }
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
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw wrongType('signal', 'an AbortSignal', signal)
  if (deadline !== undefined && !(typeof deadline === 'number' && deadline >= 1 && deadline <= LONGEST)) {
    throw wrongValue('deadline', 'a number of milliseconds from 1 to 2^31 - 1', deadline)
  }
  return { signal, deadline }
}
