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
  readonly name: string
  readonly signature: KernelSignature
}
