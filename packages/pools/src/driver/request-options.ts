import { checkOptions, wrongType } from '@tenon/core/internal'
import { PoolsError } from '../error-status.ts'
import type { AsyncRequestOptions, Priority } from './driver.ts'

/** The numbers of the priorities in messages. */
export const priorities: Readonly<Record<Priority, number>> = { low: 0, medium: 1, high: 2 }

/** @throws {ArgumentError} if a duration is neither left out nor a number of milliseconds. */
export function checkMilliseconds(value: number | undefined, name: string): void {
  if (value !== undefined && (typeof value !== 'number' || Number.isNaN(value)))
    throw wrongType(name, 'a number of milliseconds', value)
}

/**
 * Checks the options of a request. A deadline that has passed before anything began has an answer of its own (M20, Q12).
 *
 * @param more the names of the options beside `deadline` and `priority`.
 * @throws {ArgumentError} @throws {PoolsError} `MISSED_DEADLINE_PERSISTENT`
 * @throws the reason of a signal that is aborted.
 */
export function checkRequestOptions<Options extends AsyncRequestOptions>(
  options: Options,
  ...more: (keyof Options & string)[]
): void {
  const { deadline, priority = 'medium', signal } = checkOptions(options, ['deadline', 'priority', ...more])
  if (!Object.hasOwn(priorities, priority)) throw wrongType('priority', "'low', 'medium' or 'high'", priority)
  checkMilliseconds(deadline, 'deadline')
  if (deadline !== undefined && deadline <= 0)
    throw new PoolsError('MISSED_DEADLINE_PERSISTENT', `the deadline has passed already: it is ${deadline} ms`)
  signal?.throwIfAborted()
}
