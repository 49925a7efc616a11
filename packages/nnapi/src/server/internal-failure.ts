import { TenonError } from '@tenon/core'
import { PoolsError } from '@tenon/pools'

/** Reports an error inside the driver without its message, which may name memory or files. */
export function internalFailure(error: unknown): PoolsError {
  const kind = error instanceof TenonError ? error.code : 'a kernel'
  return new PoolsError('GENERAL_FAILURE', `the driver failed: ${kind}`)
}
