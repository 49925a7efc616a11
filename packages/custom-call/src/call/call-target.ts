import type { Tensor, TenonError } from '@tenon/core'
import type { CFunction, Gate } from '@tenon/core/internal'
import type { CallMemory } from '../native/call-memory.ts'

/** What a prepared call runs: a typed handler's frame, or an untyped function's pointers. */
export interface CallTarget {
  /** The symbol or registered name, for messages. */
  readonly name: string
  /** Whether its memory is a frame; otherwise it is an untyped call's. */
  readonly isTyped: boolean
  /** Of the library that the code belongs to. */
  readonly gate: Gate
  /** Runs a call, given the address of its memory; 0 is success. */
  readonly execute: CFunction
  /** The memory of the call itself. */
  readonly memory: CallMemory
  /** More memory for the same call, with pointers of its own. */
  extend(): CallMemory
  /** The error of a run that did not end with 0. */
  failure(memory: CallMemory, status: number): TenonError
  /** Frees what native code keeps for the call. */
  close(): void
}

/** Tensors of one run. */
export type Tensors = readonly Tensor[]
