import { checkOptions, enterAll, exitAll, wrongType, type Gated } from '@tenon/core/internal'
import type { Runnable } from '../call/call-target.ts'
import type { CallMemory } from '../native/call-memory.ts'
import type { DeviceStream } from '../targets/call-resources.ts'
import { submit } from './async-queue.ts'

/** The options of an asynchronous run. */
export interface RunAsyncOptions {
  /** A signal that cancels the run if it has not started. A running kernel is not interrupted. */
  readonly signal?: AbortSignal | undefined
}

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
    const signal = signalOf(options)
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
      end()
    }
    const abort = (): void => {
      if (!cancel()) return
      finish()
      reject(signal!.reason as Error)
    }
    const done = (status: number): void => {
      const error = status === 0 ? undefined : run.failure(memory, status)
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

function signalOf(options: RunAsyncOptions | undefined): AbortSignal | undefined {
  const { signal } = checkOptions(options, ['signal'])
  if (signal === undefined || signal instanceof AbortSignal) return signal
  throw wrongType('signal', 'an AbortSignal', signal)
}
