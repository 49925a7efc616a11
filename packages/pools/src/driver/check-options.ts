import { ArgumentError } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { PoolsError } from '../error-status.ts'
import type { Priority, RequestOptions } from './driver.ts'

/** Priorities as messages have them. */
export const priorities: Readonly<Record<Priority, number>> = { low: 0, medium: 1, high: 2 }

/** @throws {ArgumentError} if it is neither left out nor a number of milliseconds. */
export function checkTimeout(timeout: number | undefined, name: string): void {
  if (timeout !== undefined && (typeof timeout !== 'number' || Number.isNaN(timeout)))
    throw new ArgumentError(`${name} must be a number of milliseconds, got ${describe(timeout)}`)
}

/**
 * Checks what every request may say. A deadline that has passed before anything began has NNAPI's answer (M20, Q12).
 *
 * @throws {ArgumentError} @throws {PoolsError} `MISSED_DEADLINE_PERSISTENT`
 */
export function checkOptions({ timeout, priority = 'medium' }: RequestOptions): void {
  if (!Object.hasOwn(priorities, priority))
    throw new ArgumentError(`priority must be 'low', 'medium' or 'high', got ${describe(priority)}`)
  if (timeout === undefined) return
  checkTimeout(timeout, 'timeout')
  if (timeout <= 0)
    throw new PoolsError('MISSED_DEADLINE_PERSISTENT', `the deadline has passed already: timeout is ${timeout} ms`)
}
