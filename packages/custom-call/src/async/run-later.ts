import { checkOptions, enterAll, exitAll, guardMode, wrongType, wrongValue, type Gated } from '@tenon/core/internal'
import type { Runnable } from '../call/call-target.ts'
import type { CallMemory } from '../native/call-memory.ts'
import { refused } from '../errors/xla-error-classes.ts'
import { findDamageOf } from '../native/guarded-run.ts'
import type { DeviceStream } from '../targets/call-resources.ts'
import { submit } from './async-queue.ts'

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
  readonly run: Runnable
  readonly memory: CallMemory
  /** The operands that are held until the run is over. */
  readonly held: readonly Gated[]
  /** The streams of the run's work. The run is over when they are done. */
  readonly streams: readonly DeviceStream[]
  /** Gives the memory to later runs. */
  takeBack?(): void
}

/** Runs a call on a thread of the core. @param begin prepares the run; the promise rejects with what it throws. */
export function runLater(options: RunAsyncOptions | undefined, begin: () => LaterRun): Promise<void> {
  return new Promise((resolve, reject) => {
    const { signal, deadline } = readRunOptions(options)
    signal?.throwIfAborted()
    const { run, memory, held, streams, takeBack } = begin()
    memory.running = true
    const end = (): void => {
      memory.running = false
      takeBack?.()
    }
    const finish = (): void => {
      exitAll(held)
      signal?.removeEventListener('abort', abort)
      clearTimeout(timer)
      end()
    }
    const giveUp = (reason: unknown): void => {
      if (cancel()) finish()
      reject(reason as Error)
    }
    const abort = (): void => giveUp(signal!.reason)
    const done = (status: number): void => {
      const failure = status === 0 ? undefined : run.failure(memory, status)
      const error = guardMode ? (findDamageOf(held, memory.staged, failure) ?? failure) : failure
      for (const stream of streams) stream.keep?.(held)
      finish()
      if (error !== undefined) reject(error)
      else if (streams.length === 0) resolve()
      else Promise.all(streams.map((stream) => stream.finished?.())).then(() => resolve(), reject)
    }
    let cancel: () => boolean
    try {
      // Code of the user has run, which may have aborted it.
      signal?.throwIfAborted()
      enterAll(held)
      try {
        cancel = submit(run, memory, done)
      } catch (error) {
        exitAll(held)
        throw error
      }
    } catch (error) {
      end()
      throw error
    }
    signal?.addEventListener('abort', abort)
    // The run itself keeps the event loop running.
    const timer =
      deadline === undefined
        ? undefined
        : setTimeout(() => giveUp(missedDeadline(run.name, deadline)), deadline).unref()
  })
}

/** The error of a run that did not end in time. */
export const missedDeadline = (name: string, deadline: number): Error =>
  refused('DEADLINE_EXCEEDED', name, `the call did not end within ${deadline} ms`)

/** Reads the options once. @throws {ArgumentError | ArgumentRangeError} if one is invalid */
export function readRunOptions(options: RunAsyncOptions | undefined): RunAsyncOptions {
  const { signal, deadline } = checkOptions(options, ASYNC_OPTIONS)
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw wrongType('signal', 'an AbortSignal', signal)
  if (deadline !== undefined && !(typeof deadline === 'number' && deadline >= 1 && deadline <= LONGEST)) {
    throw wrongValue('deadline', 'a number of milliseconds from 1 to 2^31 - 1', deadline)
  }
  return { signal, deadline }
}
