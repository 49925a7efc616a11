import { ArgumentError, type TenonError } from '@tenon/core'
import { describe, enterAll, exitAll, type Gated } from '@tenon/core/internal'
import type { Runnable } from '../call/call-target.ts'
import type { CallMemory } from '../native/call-memory.ts'
import type { DeviceStream } from '../targets/call-resources.ts'
import { submit } from './async-queue.ts'

/** How an asynchronous run can be given up. */
export interface RunLaterOptions {
  /** Takes the run back if it has not started. */
  readonly signal?: AbortSignal
}

/** A run that is ready: everything is checked and written, nothing is held yet. */
export interface LaterRun {
  readonly run: Runnable
  readonly memory: CallMemory
  /** Held until the run is over. */
  readonly held: readonly Gated[]
  /** The streams that its work goes to: the run is over when they are done. */
  readonly streams: readonly DeviceStream[]
  /** The error of a run that did not end with 0. */
  failure(status: number): TenonError
  /** The memory is free again. */
  end(): void
}

/** Has a run go on on a thread of the core. @param begin what it throws is what the promise rejects with */
export function runLater(options: RunLaterOptions, begin: () => LaterRun): Promise<void> {
  return new Promise((resolve, reject) => {
    const signal = signalOf(options)
    signal?.throwIfAborted()
    const { run, memory, held, streams, failure, end } = begin()
    const finish = (): void => {
      exitAll(held)
      signal?.removeEventListener('abort', abort)
      end()
    }
    const abort = (): void => {
      if (!cancel()) return
      finish()
      reject(signal!.reason as Error)
    }
    const done = (status: number): void => {
      const error = status === 0 ? undefined : failure(status)
      for (const stream of streams) stream.keep?.(held)
      finish()
      if (error !== undefined) reject(error)
      else if (streams.length === 0) resolve()
      else Promise.all(streams.map((stream) => stream.finished?.())).then(() => resolve(), reject)
    }
    let cancel: () => boolean
    try {
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
  })
}

function signalOf(options: RunLaterOptions | null): AbortSignal | undefined {
  const signal: unknown = options?.signal
  if (signal === undefined || signal instanceof AbortSignal) return signal
  throw new ArgumentError(`signal must be an AbortSignal, got ${describe(signal)}`)
}
