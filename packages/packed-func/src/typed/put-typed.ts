import { Tensor } from '@tenon/core'
import type { Stack } from '../native/stack.ts'
import { FLOAT_TAG, INT_TAG } from '../native/type-index.ts'
import { MASKED_ARGUMENTS } from '../tensors/pack-tensor.ts'
import { put, putTensor } from '../values/put.ts'
import { Form, MISMATCH, type AnyDescriptor, type Signature } from './descriptor.ts'
import { typeName } from '../values/native-type.ts'

/**
 * Checks an argument and writes it into its slot: numbers and tensors inline, other values as their type converts them.
 *
 * @returns as `put`. @throws {PackedFuncTypeError} if the value does not have the type.
 */
export function putTyped(
  stack: Stack,
  slot: number,
  index: number,
  type: AnyDescriptor,
  value: unknown,
  signature: Signature,
): number {
  if (typeof value === 'number') {
    if (type.form === Form.Float) {
      stack.f64[slot * 2] = FLOAT_TAG
      stack.f64[slot * 2 + 1] = value
      return 0
    }
    if (type.form === Form.Int && (value | 0) === value && value >= type.low && value <= type.high) {
      if (value !== 0 || 1 / value > 0) {
        stack.f64[slot * 2] = INT_TAG
        stack.i32[slot * 4 + 2] = value
        stack.i32[slot * 4 + 3] = value >> 31
        return 0
      }
    }
  } else if (type.form === Form.Tensor && value instanceof Tensor && index < MASKED_ARGUMENTS) {
    return putTensor(stack, slot, index, value)
  }
  const native = type.toNative(value)
  if (native === MISMATCH) throw signature.mismatch(index, typeName(value))
  return put(stack, slot, index, native)
}
