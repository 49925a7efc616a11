import { checkOptions, wrongType } from '@tenon/core/internal'
import { PoolsError } from '@tenon/pools'
import type { AsyncRequestOptions, Priority } from './driver.ts'

export const priorities: Readonly<Record<Priority, number>> = { low: 0, medium: 1, high: 2 }

export function checkMilliseconds(value: number | undefined, name: string): void {
  if (value !== undefined && (typeof value !== 'number' || Number.isNaN(value)))
    throw wrongType(name, 'a number of milliseconds', value)
}

/** Checks options; `more` names the additional ones. Throws for a passed deadline (M20, Q12) and an aborted signal. */
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
