import type { NativeAllocator } from '@tenon/core'
import type { Tensors } from './call-target.ts'
import type { RunAsyncOptions } from '../async/run-later.ts'
import type { FrameCall } from './kept-frames.ts'

/** A call with its arguments. */
export interface RemoteRun<Call extends FrameCall> {
  readonly call: Call
  /** The operands, and then the results. */
  readonly tensors: Tensors
  /** All options of the call, with those that the callee names. */
  readonly options: RunAsyncOptions
}

/** The part of a callee that runs calls in another process, where several runs of one call can be in progress. */
export interface RemoteCallee<Call extends FrameCall> {
  /** The allocator of results. */
  readonly allocator: NativeAllocator
  /** The names of further options in calls of all forms. The functions that run a call receive all options. */
  readonly options: readonly string[]
  /** Runs several calls, in order for each process. */
  runBatch(runs: readonly RemoteRun<Call>[]): Promise<readonly PromiseSettledResult<unknown>[]>
}
