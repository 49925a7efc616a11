import { Tensor } from '@tenon/core'
import type { Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { NativeObject } from '../objects/native-object.ts'
import { lendTensor, MASKED_ARGUMENTS, type TensorObject } from '../tensors/pack-tensor.ts'
import { Form, MISMATCH, type AnyDescriptor, type Signature } from '../typed/descriptor.ts'
import { typeName } from './native-type.ts'
import { pack, packNative } from './pack.ts'

/**
 * Writes an argument into its slot: int32 values and tensors that were passed before inline, other values with `pack`.
 *
 * @returns the argument's bit if it is a tensor that native code may keep, or 0. The tensor's gate is entered, and the caller
 * must leave it.
 */
export function put(stack: Stack, slot: number, index: number, value: unknown): number {
  if (typeof value === 'number' && (value | 0) === value && (value !== 0 || 1 / value > 0)) {
    stack.set(slot, TypeIndex.Int, value, value >> 31)
    return 0
  }
  if (typeof value === 'object' && value instanceof Tensor && index < MASKED_ARGUMENTS)
    return putTensor(stack, slot, index, value)
  if (value instanceof NativeObject) {
    packNative(stack, slot, value)
  } else {
    pack(stack, slot, value)
  }
  return 0
}

/** Writes a tensor that native code may keep: inline if it was passed before. @returns as {@link put} */
function putTensor(stack: Stack, slot: number, index: number, tensor: Tensor): number {
  const { gate } = tensor
  const object = tensor.descriptor as TensorObject | null
  if (object === null || !gate.tryEnter()) {
    lendTensor(stack, slot, tensor)
  } else {
    stack.set(slot, TypeIndex.Tensor, object.lo, object.hi)
  }
  return 1 << index
}

/**
 * Checks an argument and writes it into its slot: numbers and tensors inline, other values as their type converts them.
 *
 * @returns as {@link put}. @throws {PackedFuncTypeError} if the value does not have the type.
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
      stack.setFloat(slot, value)
      return 0
    }
    if (type.form === Form.Int && (value | 0) === value && value >= type.low && value <= type.high) {
      if (value !== 0 || 1 / value > 0) {
        stack.set(slot, TypeIndex.Int, value, value >> 31)
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
