import { checkOptions } from '@tenon/core/internal'
import { checkCallOptions } from '@tenon/isolate/internal'
import type { IsolatedRunOptions } from './isolated-kernel.ts'

/** The names of the options of a call that runs in a worker. */
export const RUN_OPTIONS = ['deadline', 'signal', 'priority', 'affinity', 'idempotent'] as const

/** Checks options that were read once, before operands are copied. @throws {ArgumentError | ArgumentRangeError} */
export function checkRunOptions(options: object): IsolatedRunOptions {
  const { deadline, signal, priority, affinity, idempotent } = options as IsolatedRunOptions
  const runOptions = { deadline, signal, priority, affinity, idempotent }
  checkCallOptions(runOptions)
  return runOptions as IsolatedRunOptions
}

/** Reads options once. @throws {ArgumentError | ArgumentRangeError} */
export const readRunOptions = (options: unknown, place: string): IsolatedRunOptions =>
  checkRunOptions({ ...checkOptions(options as IsolatedRunOptions | undefined, RUN_OPTIONS, place) })
