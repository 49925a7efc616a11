import type { Tensor, TenonError } from '@tenon/core'
import { CONSTANTS, type Gate } from '@tenon/core/internal'
import type { CallMemory } from '../native/call-memory.ts'
import type { DeviceStream } from '../targets/call-resources.ts'

/** What native memory describes to the core, as it numbers them (`TN_XLA_JOB_*`). */
export const CallKind = {
  untyped: CONSTANTS.TN_XLA_JOB_UNTYPED,
  typed: CONSTANTS.TN_XLA_JOB_TYPED,
  batch: CONSTANTS.TN_XLA_JOB_BATCH,
} as const
export type CallKind = (typeof CallKind)[keyof typeof CallKind]

/** What can run on a thread of the core. */
export interface Runnable {
  /** The symbol or registered name, for messages. */
  readonly name: string
  /** What its memory is. */
  readonly kind: CallKind
}

/** What a prepared call runs: a typed handler's frame, or an untyped function's pointers. */
export interface CallTarget extends Runnable {
  /** Of the library that the code belongs to. */
  readonly gate: Gate
  /** Runs the call that `current` names; 0 is success. */
  readonly execute: () => unknown
  /** The memory of the call itself. */
  readonly memory: CallMemory
  /** More memory for the same call, with pointers of its own. */
  extend(): CallMemory
  /** The error of a run that did not end with 0. @param batchIndex which call of a batch it was, if it was one */
  failure(memory: CallMemory, status: number, batchIndex?: number): TenonError
  /** The stream that its work goes to, if that is an object: what a run uses stays open until the work is done. */
  readonly stream?: DeviceStream | undefined
  /** Whether its work on a stream can be captured once and replayed. */
  readonly isCapturable?: boolean
  /** Frees what native code keeps for the call. */
  close(): void
}

/** Tensors of one run. */
export type Tensors = readonly Tensor[]
