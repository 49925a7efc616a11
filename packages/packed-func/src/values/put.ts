import { Tensor } from '@tenon/core'
import type { Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { NativeObject, openCell } from '../objects/native-object.ts'
import { MASKED_ARGUMENTS, type TensorObject } from '../tensors/pack-tensor.ts'
import { Form, MISMATCH, type AnyDescriptor, type Signature } from '../typed/descriptor.ts'
import { typeName } from './native-type.ts'
import { lendArgument, packArgument } from './pack.ts'
import { packText } from './text.ts'
import { ReadOnlyTensor } from './wrappers.ts'

/** Writes the arguments of calls into their slots. */
export interface Put {
  /**
   * Writes an argument: int32 values and tensors that were passed before inline, other values with `pack`.
   *
   * @returns the argument's bit if it is a tensor that native code may keep, or 0. The tensor's gate counts the call, and the
   * caller must take that away.
   */
  any(slot: number, index: number, value: unknown): number
  /** Returns whether a type takes a value as it is, so that {@link any} writes it. */
  takes(type: AnyDescriptor, value: unknown): boolean
  /**
   * Checks an argument, and writes it as its type converts it.
   *
   * @returns as {@link any}. @throws {PackedFuncTypeError} if the value does not have the type.
   */
  typed(slot: number, index: number, type: AnyDescriptor, value: unknown, signature: Signature): number
}

/** Makes the functions of a stack, whose constants are part of compiled code. */
export function makePut(stack: Stack): Put {
  const { i32, f64, lent } = stack
  const { Int: INT, Float: FLOAT, Tensor: TENSOR } = TypeIndex
  const { Int: INT_FORM, Float: FLOAT_FORM, Tensor: TENSOR_FORM } = Form
  const { isGenuine } = Tensor
  const [TensorClass, MOST] = [Tensor, MASKED_ARGUMENTS]

  function putInt(slot: number, value: number): void {
    const at = slot * 4
    i32[at] = INT
    i32[at + 1] = 0
    i32[at + 2] = value
    i32[at + 3] = value >> 31
  }

  /** As `lend()` of the stack. */
  function lend(slot: number, typeIndex: number, low: number, high: number): void {
    const at = slot * 4
    i32[at] = typeIndex
    i32[at + 1] = 0
    i32[at + 2] = low
    i32[at + 3] = high
    lent[slot * 2] = low
    lent[slot * 2 + 1] = high
  }

  /** Writes a tensor that native code may keep: inline if it was passed before. */
  function putTensor(slot: number, index: number, tensor: Tensor): number {
    const { gate, block } = tensor
    const object = tensor.descriptor as TensorObject | null
    // Exposed memory without bytes may be detached, which the slow path finds out.
    if (object === null || !gate.open || (block.exposed && block.bytes.length === 0)) {
      lendArgument(stack, slot, index, tensor)
    } else {
      lend(slot, TENSOR, object.lo, object.hi)
      gate.calls++
    }
    return 1 << index
  }

  function any(slot: number, index: number, value: unknown): number {
    if (typeof value === 'number' && (value | 0) === value && (value !== 0 || 1 / value > 0)) {
      putInt(slot, value)
      return 0
    }
    if (typeof value === 'string') {
      packText(stack, slot, value)
      return 0
    }
    // Not a Proxy of a tensor, because the caller reads the gate again.
    if (typeof value === 'object' && value !== null && isGenuine(value) && index < MOST)
      return putTensor(slot, index, value)
    if (value instanceof NativeObject) {
      const { typeIndex, lo, hi } = openCell(value)
      lend(slot, typeIndex, lo, hi)
    } else if (value instanceof ReadOnlyTensor && isLent(value) && index < MOST) {
      lendArgument(stack, slot, index, value.tensor, true)
      return 1 << index
    } else {
      packArgument(stack, slot, index, value)
    }
    return 0
  }

  /** Whether native code may keep the tensor, unlike that of a view. The caller reads the gate again. */
  function isLent({ value, tensor, gate }: ReadOnlyTensor): boolean {
    return value instanceof TensorClass && tensor === value && gate === value.gate
  }

  function takes({ form, low, high }: AnyDescriptor, value: unknown): boolean {
    if (typeof value === 'number')
      return (
        form === INT_FORM && (value | 0) === value && value >= low && value <= high && (value !== 0 || 1 / value > 0)
      )
    return form === TENSOR_FORM && value instanceof TensorClass
  }

  function typed(slot: number, index: number, type: AnyDescriptor, value: unknown, signature: Signature): number {
    if (typeof value === 'number' && type.form === FLOAT_FORM) {
      i32[slot * 4] = FLOAT
      i32[slot * 4 + 1] = 0
      f64[slot * 2 + 1] = value
      return 0
    }
    const native = type.toNative(value)
    if (native === MISMATCH) throw signature.mismatch(index, typeName(value))
    // The caller reads the gates of the arguments, so a tensor that was made for one keeps itself.
    if (native === value || !(native instanceof TensorClass)) return any(slot, index, native)
    packArgument(stack, slot, index, native)
    return 0
  }

  return { any, takes, typed }
}
