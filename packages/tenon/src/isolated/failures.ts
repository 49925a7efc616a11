import { NativeError, TenonError } from '@tenon/core'
import { CONSTANTS, explainLoadFailure, missingSymbol, STATUS } from '@tenon/core/internal'
import { callError, refusedHandler } from '@tenon/custom-call/internal'
import type { Answer, WorkerDetails, WorkerKernel } from '@tenon/isolate/internal'

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

/** The text of an answer. It can be damaged. */
export const textOf = ({ body }: Answer): string => Buffer.from(body).toString()

/** The error of a library that cannot be loaded, of a kernel that it does not have, or of a request that the worker refused. */
export function requestFailure({ name, library, symbols }: WorkerKernel, answer: Answer): Error {
  const { error, status, code, value } = answer
  const text = textOf(answer)
  if (error === CONSTANTS.TN_HOST_LOAD_ERROR) return explainLoadFailure(library, text)
  if (status === STATUS.VERSION_MISMATCH.value) {
    return refusedHandler({ target: symbols[3], path: library, version: code, xlaCode: value, text })
  }
  if (status === STATUS.NOT_FOUND.value) return missingSymbol(library, symbols[3])
  return new NativeError(`the worker refused ${name}: ${text}`, { details: { status } })
}

/** Makes the function that returns the errors of a custom call. @param target the symbol or registered name. */
export function customFailure(
  kernel: WorkerKernel,
  target: string,
  convention: 'typed' | 'untyped',
): (answer: Answer, details: WorkerDetails) => Error {
  return (answer, details) => {
    const { error, status, code, value } = answer
    const isException = error === CONSTANTS.TN_HOST_EXCEPTION
    if (!isException && error !== CONSTANTS.TN_HOST_XLA_ERROR) {
      return withWorker(requestFailure(kernel, answer), details)
    }
    const isOutOfMemory = convention === 'untyped' && status === STATUS.OUT_OF_MEMORY.value
    const thrown = isOutOfMemory ? STATUS.OUT_OF_MEMORY : STATUS.EXCEPTION
    const failure = {
      convention,
      target,
      status: (isException ? thrown : STATUS.KERNEL_FAILED).value,
      // An untyped function has no code and no stage.
      ...(convention === 'typed' && { xlaCode: code, stage: value }),
      text: textOf(answer),
    }
    return withWorker(callError(failure), details)
  }
}
