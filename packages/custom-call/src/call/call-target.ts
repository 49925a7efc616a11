import type { Tensor, TenonError } from '@tenon/core'
import type { Gate } from '@tenon/core/internal'
import type { CallMemory } from '../native/call-memory.ts'
import type { RunCall } from '../native/current-call.ts'
import type { DeviceStream } from '../targets/call-resources.ts'

export interface Runnable {
  /** The symbol or registered name, for messages. */
  readonly name: string
  /** The kind of its memory, one of the constants `TN_XLA_JOB_*`. */
  readonly kind: number
  /** Makes the error of a run that did not end with 0. @param batchIndex the index of the call in its batch. */
  failure(memory: CallMemory, status: number, batchIndex?: number): TenonError
}

/** The target of a prepared call: a typed handler's frame, or an untyped function's pointers. */
export interface CallTarget extends Runnable {
  readonly gate: Gate
  /** Runs the call on this thread. */
  readonly run: RunCall
  readonly memory: CallMemory
  /** Lays out more memory for the same call, with pointers of its own. */
  extend(): CallMemory
  /** The stream of the call's work, if it is an object. The operands of a run stay open until the work is done. */
  readonly stream?: DeviceStream | undefined
  /** Whether its work on a stream can be captured once and replayed. */
  readonly isCapturable?: boolean
  /** Frees what native code keeps for the call. */
  close(): void
}

/** The tensors of one run. */
export type Tensors = readonly Tensor[]
