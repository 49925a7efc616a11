import type { Argument } from '@tenon/packed-func'
import type { RemoteValue } from '@tenon/packed-func/internal'
import type { IsolatedRunOptions } from './isolated-kernel.ts'

/**
 * A packed function of an isolated library. Its calls run in a worker, and take the values of packed functions that do not belong
 * to this process: None, booleans, numbers, text, bytes, tensors, shapes, data types, devices, and arrays and Maps of them. Text and
 * containers are copied. Functions need `callbacks: 'relay'`.
 */
export interface IsolatedPackedFunc {
  /**
   * Calls the function, and blocks this thread until the call ends. Tensors outside shared memory are copied to the worker, and
   * copied back afterwards, because a packed function may write to any of its arguments. A tensor that the function returns lies in
   * the memory of the library. Arrays and Maps of native code return as those of JavaScript.
   *
   * @throws {PackedFuncError} the error that the function raised, with `details.worker`.
   * @throws {KernelCrashError | KernelDeadlineError | KernelMemoryError | WorkerLostError | CrashLoopError} for the end of the worker.
   * @throws {PackedFuncTypeError} for a value that belongs to this process. @throws {ScopeClosedError} if the library is closed.
   */
  (...values: Argument[]): RemoteValue
  /** Calls the function without blocking. @throws (rejects with) the errors of the call. */
  async(...values: Argument[]): Promise<RemoteValue>
  /** Runs several calls, each with its values in an array. Each settles on its own. */
  batch(calls: readonly (readonly Argument[])[]): Promise<PromiseSettledResult<RemoteValue>[]>
  /**
   * Returns the function with options for its calls, because a packed function takes any number of values.
   *
   * @throws {ArgumentError | ArgumentRangeError} if an option is not valid.
   * @example
   * await using packed = await Library.isolate('./libpacked.so')
   * const total = packed.packed('sum').with({ deadline: 1000 })(1, 2) // 3
   */
  with(options: IsolatedRunOptions): IsolatedPackedFunc
  readonly name: string
}
