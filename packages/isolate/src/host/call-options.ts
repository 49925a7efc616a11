import { isRevoked, wrongType } from '@tenon/core/internal'
import { checkChoice, checkDeadline, checkFlag } from './settings.ts'
import type { WorkerCall } from './worker-call.ts'

/** The options of a call in a worker. */
export type CallOptions = Pick<WorkerCall, 'deadline' | 'signal' | 'priority' | 'affinity' | 'idempotent'>

const PRIORITIES = ['low', 'medium', 'high'] as const

/** Checks options that were read once. @throws {ArgumentError | ArgumentRangeError} */
export function checkCallOptions({ deadline, signal, priority, affinity, idempotent }: CallOptions): void {
  if (deadline !== undefined) checkDeadline(deadline)
  if (signal !== undefined && (isRevoked(signal) || !(signal instanceof AbortSignal))) {
    throw wrongType('signal', 'an AbortSignal', signal)
  }
  if (priority !== undefined) checkChoice(priority, PRIORITIES, 'priority')
  if (affinity !== undefined && typeof affinity !== 'string') throw wrongType('affinity', 'a string', affinity)
  if (idempotent !== undefined) checkFlag(idempotent, 'idempotent')
}
