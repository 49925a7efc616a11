import { gcAllocator, type Tensor, type TensorType } from '@tenon/core'
import { copyBytes } from '@tenon/core/internal'
import type { CallMemory } from '../native/call-memory.ts'
import { allocateResult } from './allocate-result.ts'

/**
 * Copies a row-major operand into memory of a call, in the layout of the operand.
 *
 * @param index the index of the tensor.
 * @returns the copy, whose memory the call keeps for its next run.
 */
export function stageOperand(
  memory: CallMemory,
  index: number,
  type: TensorType,
  alignment: number,
  operand: Tensor,
): Tensor {
  const staged = (memory.staged ??= [])
  const copy = (staged[index] ??= allocateResult(type, gcAllocator, alignment))
  copyBytes(operand, copy)
  return copy
}

/** Copies the operands of a bound call again, which may have other values now. */
export function copyAgain({ staged }: CallMemory, operands: readonly Tensor[]): void {
  staged?.forEach((copy, index) => {
    if (copy !== undefined) copyBytes(operands[index]!, copy)
  })
}
