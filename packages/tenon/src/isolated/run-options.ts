import { checkOptions, wrongType, wrongValue } from '@tenon/core/internal'
import type { IsolatedRunOptions } from './isolated-kernel.ts'

/** The names of the options of a call that runs in a worker. */
export const RUN_OPTIONS = ['deadline', 'signal', 'priority', 'affinity', 'idempotent'] as const

/** The longest deadline in milliseconds, as the longest time of a timer. */
const LONGEST = 2 ** 31 - 1

/** Checks options that were read once. @throws {ArgumentError | ArgumentRangeError} */
export function checkRunOptions(options: object): IsolatedRunOptions {
  const { deadline, signal, priority, affinity, idempotent } = options as Readonly<Record<string, unknown>>
  if (deadline !== undefined && deadline !== Number.POSITIVE_INFINITY) {
    const isValid = typeof deadline === 'number' && deadline >= 1 && deadline <= LONGEST
    if (!isValid) throw wrongValue('deadline', 'a number of milliseconds from 1 to 2^31 - 1, or Infinity', deadline)
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw wrongType('signal', 'an AbortSignal', signal)
  if (priority !== undefined && priority !== 'low' && priority !== 'medium' && priority !== 'high') {
    throw wrongType('priority', "'low', 'medium' or 'high'", priority)
  }
  if (affinity !== undefined && typeof affinity !== 'string') throw wrongType('affinity', 'a text', affinity)
  if (idempotent !== undefined && typeof idempotent !== 'boolean') {
    throw wrongType('idempotent', 'true or false', idempotent)
  }
  return { deadline, signal, priority, affinity, idempotent } as IsolatedRunOptions
}

/** Reads options once. @throws {ArgumentError | ArgumentRangeError} */
export const readRunOptions = (options: unknown, place: string): IsolatedRunOptions =>
  checkRunOptions({ ...checkOptions(options as IsolatedRunOptions | undefined, RUN_OPTIONS, place) })
