import { checkOptions, RUN_OPTIONS, type IsolatedRunOptions, type RemoteCall } from '@tenon/core/internal'
import type { Argument } from '../values/argument.ts'
import type { RemoteValue } from './decode-values.ts'
import { beginPacked, type PackedTarget } from './packed-run.ts'

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
   * Returns the function with options for its calls, because a packed function takes any number of values:
   * `sum.with({ deadline: 1000 })(1, 2)`.
   *
   * @throws {ArgumentError | ArgumentRangeError} if an option is not valid.
   */
  with(options: IsolatedRunOptions): IsolatedPackedFunc
  readonly name: string
}

const isAlwaysWritten = (): boolean => true

/** Makes a packed function whose calls run in another process. @param members are further members of the function. */
export function isolatedPackedFunc(
  target: PackedTarget,
  name: string,
  options: IsolatedRunOptions = {},
  members: object = {},
): IsolatedPackedFunc {
  const { host } = target
  const begin = (values: readonly unknown[]): RemoteCall<RemoteValue> =>
    beginPacked(target, values, isAlwaysWritten, options)
  const call = (...values: Argument[]): RemoteValue => host.run(begin(values))
  const forms = {
    ...members,
    name,
    async: async (...values: Argument[]) => host.runAsync(begin(values)),
    batch: async (calls: readonly (readonly Argument[])[]) =>
      host.runBatch(Array.from(calls, (values) => () => begin(values))),
    with: (given: IsolatedRunOptions) => {
      const checked = { ...checkOptions(given, RUN_OPTIONS, `the options of ${name}`) }
      host.checkRunOptions(checked)
      return isolatedPackedFunc(target, name, checked, members)
    },
  }
  // Not enumerable, so that `console.log` prints the function in one line.
  for (const [key, value] of Object.entries(forms)) Object.defineProperty(call, key, { value })
  return call as unknown as IsolatedPackedFunc
}
