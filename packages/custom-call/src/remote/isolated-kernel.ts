import type { KernelSignature, Tensor } from '@tenon/core'
import type { IsolatedRunOptions } from '@tenon/core/internal'
import type { KernelCallOptions, KernelResources } from '../call/kernel-options.ts'
import type { KernelArgument } from '../kernel.ts'

/** The options of an isolated kernel's call: those of a kernel in this process, as far as they make sense in another one. */
export interface IsolatedCallOptions extends Omit<KernelCallOptions, 'stream' | 'resources'>, IsolatedRunOptions {
  readonly resources?: Pick<KernelResources, 'deviceOrdinal'>
}

/** An operand, the attributes, or the options of an isolated call. */
export type IsolatedArgument = KernelArgument<IsolatedCallOptions>

/** A kernel whose calls run in a worker. It takes the same arguments as a kernel in this process. */
export interface IsolatedKernel<Result = Tensor> {
  /**
   * Calls the kernel, and blocks this thread until the call ends. Operands in shared memory are not copied, others are copied once.
   * Results lie in the memory of the library, unless `into` or `allocator` say otherwise.
   *
   * @throws {ArgumentError} if the call contradicts the signature of the kernel. @throws {QueueFullError} if too many calls wait.
   * @throws {KernelCrashError | KernelDeadlineError | KernelMemoryError | WorkerLostError | CrashLoopError} for the end of the worker.
   * @throws the errors that the kernel reports, in the classes of calls in this process, with `details.worker`.
   * @throws {ScopeClosedError} if the library, or the memory of a tensor, is closed.
   */
  (...args: readonly IsolatedArgument[]): Result
  /** Calls the kernel without blocking. @throws (rejects with) the errors of the call. */
  async(...args: readonly IsolatedArgument[]): Promise<Result>
  /**
   * Runs several calls, each with its arguments in an array. A worker runs up to 32 of them after one wake-up. Each call settles on
   * its own: `batch([[x], [x, { temperature: 2 }]])` resolves to two outcomes, as of `Promise.allSettled`.
   *
   * @throws {ArgumentError} (rejects with) if `calls` is not an array.
   */
  batch(calls: readonly (readonly IsolatedArgument[])[]): Promise<PromiseSettledResult<Result>[]>
  /**
   * Warms up the workers of the library, as far as the calls of a function do it. The function runs for each worker, first for one of them, and
   * again for each worker that replaces another one, which gets no other asynchronous calls before the function has ended. If it fails then, the
   * worker counts as one that crashed.
   *
   * @param warmUp makes asynchronous calls with the affinity that it gets, which selects the worker.
   * @returns a function that ends the warm-ups of later workers.
   * @throws (rejects with) what `warmUp` throws. No worker is warmed up any more then.
   */
  warmUp(warmUp: (affinity: string) => Promise<unknown>): Promise<() => void>
  readonly name: string
  readonly signature: KernelSignature
}
