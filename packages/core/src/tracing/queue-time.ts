/** The time that asynchronous calls of this process wait for a thread. */
import type { CallTrace } from './call-trace.ts'

/** The message of the traced call that this thread is starting. Its job belongs to it. */
export const starting: { trace: CallTrace | undefined } = { trace: undefined }

/** Starts a traced call. */
export function whileStarting<T>(trace: CallTrace, begin: () => T): T {
  const outer = starting.trace
  starting.trace = trace
  try {
    return begin()
  } finally {
    starting.trace = outer
  }
}

/** The difference of the clock of native code and `performance.now()` in milliseconds. */
let clock = 0

/** @param now the time of the clock of native code in ns */
export function setNativeClock(now: number): void {
  clock = now / 1e6 - performance.now()
}

/**
 * Sets the queue time of a call.
 *
 * @param begun when a thread began it, in ns of the clock of native code, or 0 if that is not known
 */
export function noteQueueTime(trace: CallTrace, begun: number): void {
  if (begun === 0) return
  const waited = begun / 1e6 - clock - trace.startTime
  trace.queueTime = Math.round(Math.min(Math.max(waited, 0), performance.now() - trace.startTime) * 1e6)
}
