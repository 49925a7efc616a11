import { Tensor } from '@tenon/core'
import type { Stack } from '../native/stack.ts'
import { Tag } from '../native/type-index.ts'
import { lendTensor, MASKED_ARGUMENTS } from '../tensors/pack-tensor.ts'
import type { TensorObject } from '../tensors/tensor-object.ts'
import { pack } from './pack.ts'

/**
 * Writes an argument into its slot: small whole numbers and tensors that were passed before in line, the rest by `pack`.
 * Returns the argument's bit if it is a tensor that native code may keep, whose memory is held until the caller counts its
 * gate down, else 0.
 */
export function put(stack: Stack, slot: number, index: number, value: unknown): number {
  if (typeof value === 'number' && (value | 0) === value && (value !== 0 || 1 / value > 0)) {
    stack.f64[slot * 2] = Tag.Int
    stack.i32[slot * 4 + 2] = value
    stack.i32[slot * 4 + 3] = value >> 31
    return 0
  }
  if (value instanceof Tensor && index < MASKED_ARGUMENTS) {
    const { gate } = value
    const object = value.descriptor as TensorObject | null
    if (object === null || !gate.alive) {
      lendTensor(stack, slot, value)
    } else {
      stack.f64[slot * 2] = Tag.Tensor
      stack.f64[slot * 2 + 1] = object.pointer
      gate.holds++
    }
    return 1 << index
  }
  pack(stack, slot, value)
  return 0
}
