import type { NativeAllocator, Tensor, TensorType } from '@tenon/core'
import type { Gated } from '@tenon/core/internal'
import type { FrameCall, FrameLimits } from './frames.ts'
import type { RunAsyncOptions } from './run-later.ts'

/** The part of a function that prepares and runs its calls. */
export interface Callee<Call extends FrameCall, Shape = unknown> {
  readonly frames: FrameLimits
  /** Throws in the place of `prepare()` of the function, if the calls can only be run by the function. */
  readonly refusePrepare?: () => never
  /** Prepares a call. @throws {ArgumentError} if something cannot be passed. */
  prepare(shape: Shape): Call
  /**
   * Runs a call. Its frame is marked as running, and not any more when the run has ended.
   *
   * @param list places for the call and its library, the operands, and the results.
   */
  run(call: Call, list: Gated[], options: RunAsyncOptions): void
  /** Runs a call on another thread. The list is that of this run alone. */
  runAsync(call: Call, list: Gated[], options: RunAsyncOptions): Promise<void>
  /** For calls that run in another process. */
  readonly remote?: RemoteCallee<Call>
}

/** The part of a callee that runs calls in another process. */
export interface RemoteCallee<Call extends FrameCall> {
  /** The allocator of results. */
  readonly allocator: NativeAllocator
  /** Makes a tensor of zeros in the memory of that allocator. @throws {AllocationError | ScopeClosedError} */
  newTensor(type: TensorType): Tensor
  /** The names of further options in calls of all forms. The functions that run a call receive all options. */
  readonly options: readonly string[]
  /** Runs several calls, in order for each process. */
  runBatch(runs: readonly RemoteRun<Call>[]): Promise<readonly PromiseSettledResult<unknown>[]>
}

/** A call with its arguments. */
export interface RemoteRun<Call extends FrameCall> {
  readonly call: Call
  /** Places for the call and its library, the operands, and the results. */
  readonly list: readonly Gated[]
  /** All options of the call, with those that the callee names. */
  readonly options: RunAsyncOptions
}
