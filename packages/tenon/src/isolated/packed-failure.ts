import { CONSTANTS, didYouMean, STATUS } from '@tenon/core/internal'
import { AttributeError } from '@tenon/packed-func'
import { decodeError } from '@tenon/packed-func/internal'
import type { Answer, WorkerDetails, WorkerKernel } from '@tenon/isolate/internal'
import { requestFailure, withWorker } from './failures.ts'

/**
 * Returns the error that a packed function raised in a worker.
 *
 * @param raised what functions of this process have thrown during the call, by the ids that were sent.
 * @param names the packed functions of the library.
 */
export function packedFailure(
  kernel: WorkerKernel,
  names: readonly string[],
  raised: ReadonlyMap<number, unknown>,
  answer: Answer,
  details: WorkerDetails,
): Error {
  const [, , , symbol] = kernel.symbols
  if (answer.error === CONSTANTS.TN_HOST_PACKED_ERROR) {
    return withWorker(decodeError(answer.body, raised) as Error, details)
  }
  if (answer.status === STATUS.NOT_FOUND.value) return withWorker(missingFunction(symbol, names), details)
  return withWorker(requestFailure(kernel, answer), details)
}

/** The error of `Module.get` for a name that a library does not have. */
export function missingFunction(name: string, names: readonly string[]): AttributeError {
  return new AttributeError(`Module has no function '${name}'`, { hint: didYouMean(name, names) })
}
