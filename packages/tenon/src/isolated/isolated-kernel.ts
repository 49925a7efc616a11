import type { KernelSignature, Tensor } from '@tenon/core'
import type { KernelArgument, KernelCallOptions, KernelResources } from '@tenon/custom-call'
import type { CallPriority } from '@tenon/isolate'

/** The options of a call that runs in a worker, of every kind. */
export interface IsolatedRunOptions {
  /**
   * The longest time for the call in milliseconds, with the time in the queue; `Infinity` for none. The default is the deadline of
   * the library.
   */
  readonly deadline?: number
  /** Takes back a call that waits. A call that runs is cancelled, and its worker ends if the kernel does not return. */
  readonly signal?: AbortSignal
  /** The priority among the calls that wait for a worker. The default is `medium`. */
  readonly priority?: CallPriority
  /** Calls with the same key run in the same worker, which keeps the state of their handlers. */
  readonly affinity?: string
  /** Whether the call may run once more on another worker if the first worker crashed. The default is that of the library. */
  readonly idempotent?: boolean
}

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
   * its own.
   *
   * @throws {ArgumentError} (rejects with) if `calls` is not an array.
   * @example
   * await using library = await Library.isolate('./libkernels.so')
   * const [a, b] = await library.kernel('softmax').batch([[x], [x, { temperature: 2 }]])
   * a.status // 'fulfilled'
   */
  batch(calls: readonly (readonly IsolatedArgument[])[]): Promise<PromiseSettledResult<Result>[]>
  readonly name: string
  readonly signature: KernelSignature
}
