import { missedDeadline, readRunOptions, type RunAsyncOptions } from './run-later.ts'

/**
 * Runs a call of another convention, whose promise rejects at once when the signal is aborted, and at the deadline.
 *
 * @param name the kernel in messages.
 * @param run starts the call, with a signal that is aborted in both cases.
 * @throws {ArgumentError | ArgumentRangeError} (rejects with) if an option is invalid.
 */
export async function runUntil(
  name: string,
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
      deadline === undefined ? undefined : setTimeout(() => giveUp(missedDeadline(name, deadline)), deadline).unref()
    const end = (): void => {
      signal?.removeEventListener('abort', abort)
      clearTimeout(timer)
    }
    run(ended.signal).finally(end).then(resolve, reject)
  })
}
