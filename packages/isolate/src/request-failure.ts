import { NativeError, TenonError } from '@tenon/core'
import {
  CONSTANTS,
  explainLoadFailure,
  missingSymbol,
  STATUS,
  type RemoteAnswer,
  type RemoteKernel,
} from '@tenon/core/internal'
import type { WorkerDetails } from './host/worker-call.ts'

/** The error of a library that cannot be loaded, of a kernel that it does not have, or of a request that the worker refused. */
export function requestFailure({ name, library, symbols }: RemoteKernel, { error, status, body }: RemoteAnswer): Error {
  // The text can be damaged.
  const text = Buffer.from(body).toString()
  if (error === CONSTANTS.TN_HOST_LOAD_ERROR) return explainLoadFailure(library, text)
  if (status === STATUS.NOT_FOUND.value) return missingSymbol(library, symbols[3])
  return new NativeError(`the worker refused ${name}: ${text}`, { details: { status } })
}

/** Adds the worker to an error, which is otherwise the one of a call in this process. */
export function withWorker<Thrown>(error: Thrown, { worker }: WorkerDetails): Thrown {
  if (error instanceof TenonError) {
    Object.defineProperty(error, 'details', {
      value: { ...error.details, worker },
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  return error
}
