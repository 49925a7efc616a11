import { IsolationError } from '@tenon/core'
import { defineKind } from '@tenon/core/internal'

/**
 * A kernel ended its worker: by a signal, by `exit`, by an exception that nobody caught, or by damage to the memory of the
 * worker. `details` has the `signal` or the `exitCode`; for a fault also the `address`, and the `operand`, `byteOffset` and
 * `access` if they are known; the `backtrace`, innermost function first, and the same as objects in `frames`; the `arguments`; and `previous`,
 * the kernels that the worker ran before, because one of them may have caused the damage.
 *
 * @example
 * try {
 *   softmax(x)
 * } catch (error) {
 *   if (error instanceof KernelCrashError) console.error(error.details.signal) // SIGSEGV
 * }
 */
export class KernelCrashError extends IsolationError {
  static override readonly kind: string = 'KernelCrashError'
}
defineKind(KernelCrashError, ['IsolationError'])

/**
 * A kernel needed more memory than its worker may have. `details` has the `limit`, the `refusedBytes` or the bytes `used`, and
 * the `source` of the refusal: `rlimit` for an allocation that was refused, `watch` for a worker that was found above the limit.
 */
export class KernelMemoryError extends IsolationError {
  static override readonly kind: string = 'KernelMemoryError'
}
defineKind(KernelMemoryError, ['IsolationError'])

/** A call lost its worker before it had begun, and so had no effect. The `cause` is the end of the worker. */
export class WorkerLostError extends IsolationError {
  static override readonly kind: string = 'WorkerLostError'
}
defineKind(WorkerLostError, ['IsolationError'])

/**
 * The workers crashed so often that they are not started any more until `restart()`. `details` has the number of `crashes` and
 * the `window` in milliseconds. The `cause` is the last crash.
 */
export class CrashLoopError extends IsolationError {
  static override readonly kind: string = 'CrashLoopError'
}
defineKind(CrashLoopError, ['IsolationError'])
