import type { CallTrace } from '@tenon/core'
import { CONSTANTS, newTrace } from '@tenon/core/internal'
import type { WorkerCall } from './worker-call.ts'

/** The conventions by the numbers that workers know. */
const CONVENTIONS: Readonly<Record<number, CallTrace['convention']>> = {
  [CONSTANTS.TN_HOST_XLA]: 'typed',
  [CONSTANTS.TN_HOST_REGISTERED]: 'typed',
  [CONSTANTS.TN_HOST_ORIGINAL]: 'host',
  [CONSTANTS.TN_HOST_STATUS]: 'host-status',
  [CONSTANTS.TN_HOST_UNIFIED]: 'host-unified',
  [CONSTANTS.TN_HOST_PACKED]: 'packed',
  [CONSTANTS.TN_HOST_LEGACY]: 'legacy',
  [CONSTANTS.TN_HOST_FUNCTION]: 'function',
  [CONSTANTS.TN_HOST_SCRIPT]: 'script',
  [CONSTANTS.TN_HOST_TENSORFLOW]: 'tensorflow',
}

/** Makes the message of a call, which has no worker yet. */
export function traceOf({ kernel, types = [], copiedBytes = 0 }: WorkerCall, isAsync: boolean): CallTrace {
  const trace = newTrace(kernel.name, CONVENTIONS[kernel.convention]!, types, isAsync)
  trace.copiedBytes = copiedBytes
  trace.worker = 0
  return trace
}
