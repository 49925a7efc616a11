import { ArgumentRangeError, ReadOnlyError, Tensor } from '@tenon/core'
import { adopt, bytesOfStrings, describe } from '@tenon/core/internal'
import { putError } from '../errors/crossing.ts'
import { PackedFuncTypeError } from '../errors/error-kinds.ts'
import { makeFunction, type Run } from '../functions/callback.ts'
import type { Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { NativeObject, openCell } from '../objects/native-object.ts'
import { packContainer } from '../objects/pack-container.ts'
import { lendTensor, packTensor, packTensorView } from '../tensors/pack-tensor.ts'
import { DataType, FloatValue, IntValue, isDevice, isInt64, OpaquePointer } from './scalars.ts'
import { packBytes, packText } from './text.ts'
import { packRValue, ReadOnlyTensor, RValue, TensorView } from './wrappers.ts'

/** `stack.settle()` releases everything that was created for the value. */
export function pack(stack: Stack, slot: number, value: unknown): void {
  switch (typeof value) {
    case 'number':
      if ((value | 0) === value && (value !== 0 || 1 / value > 0)) stack.set(slot, TypeIndex.Int, value, value >> 31)
      else if (Number.isSafeInteger(value) && !Object.is(value, -0)) packInteger(stack, slot, value)
      else stack.setFloat(slot, value)
      return
    case 'boolean':
      stack.set(slot, TypeIndex.Bool, value ? 1 : 0, 0)
      return
    case 'string':
      packText(stack, slot, value)
      return
    case 'bigint':
      packBigInt(stack, slot, value)
      return
    case 'undefined':
      stack.set(slot, TypeIndex.None, 0, 0)
      return
    case 'object':
      if (value === null) stack.set(slot, TypeIndex.None, 0, 0)
      else packObject(stack, slot, value)
      return
    case 'function':
      if (value instanceof NativeObject) {
        packNative(stack, slot, value)
      } else {
        makeFunction(stack, slot, value as Run, pack)
        stack.releaseLater(slot)
      }
      return
    default:
      throw unsupported(value)
  }
}

function packInteger(stack: Stack, slot: number, value: number): void {
  stack.set(slot, TypeIndex.Int, value, Math.floor(value / 2 ** 32))
}

function packWhole(stack: Stack, slot: number, value: number | bigint): void {
  if (typeof value === 'bigint') packBigInt(stack, slot, value)
  else packInteger(stack, slot, value)
}

function packBigInt(stack: Stack, slot: number, value: bigint): void {
  if (!isInt64(value)) {
    throw new ArgumentRangeError(`an integer must be from -2^63 to 2^63 - 1, ${value} is too large to fit in int64_t`, {
      hint: 'Pass it as text or as bytes.',
      details: { expected: 'an integer from -2^63 to 2^63 - 1', received: describe(value) },
    })
  }
  packWide(stack, slot, TypeIndex.Int, value)
}

function packObject(stack: Stack, slot: number, value: object): void {
  if (value instanceof Tensor) packTensor(stack, slot, value)
  else if (value instanceof NativeObject) packNative(stack, slot, value)
  else if (value instanceof FloatValue) stack.setFloat(slot, value.value)
  else if (value instanceof IntValue) packWhole(stack, slot, value.value)
  else if (value instanceof Uint8Array) packBytes(stack, slot, value)
  else if (Array.isArray(value)) packContainer(stack, slot, 'ffi.Array', value, pack)
  else if (value instanceof Map) packContainer(stack, slot, 'ffi.Map', [...value].flat(), pack)
  else packRare(stack, slot, value)
}

/** Packs a native object, which the call borrows. */
function packNative(stack: Stack, slot: number, object: NativeObject): void {
  const cell = openCell(object)
  stack.lend(slot, cell.typeIndex, cell.lo, cell.hi)
}

function packRare(stack: Stack, slot: number, value: object): void {
  if (value instanceof TensorView) packTensorView(stack, slot, value.value)
  else if (value instanceof ReadOnlyTensor) packReadOnly(stack, slot, value.value)
  else if (value instanceof RValue) packRValue(stack, slot, value.value)
  else if (value instanceof Error) {
    putError(stack, slot, value)
    stack.releaseLater(slot)
  } else if (value instanceof DataType)
    stack.set(slot, TypeIndex.DataType, value.code | (value.bits << 8) | (value.lanes << 16), 0)
  else if (value instanceof OpaquePointer) packWide(stack, slot, TypeIndex.OpaquePtr, value.address)
  else if (isDevice(value)) stack.set(slot, TypeIndex.Device, value.type, value.id)
  else packForeign(stack, slot, value)
}

/**
 * Packs a tensor of another library. Native code gets a copy of a string tensor, as bytes.
 *
 * @throws {PackedFuncTypeError} for other values. @throws {ArgumentError} if the memory of the tensor cannot be used without a copy
 */
function packForeign(stack: Stack, slot: number, value: object): void {
  const own = adopt(value, 'an argument') ?? value
  const bytes = own instanceof Tensor ? own : bytesOfStrings(own)
  if (bytes === undefined) throw unsupported(value)
  packTensor(stack, slot, bytes)
}

function packReadOnly(stack: Stack, slot: number, value: Tensor | TensorView): void {
  if (value instanceof TensorView) packTensorView(stack, slot, value.value, true)
  else packTensor(stack, slot, value, true)
}

function packWide(stack: Stack, slot: number, typeIndex: number, value: bigint): void {
  stack.set(slot, typeIndex, 0, 0)
  stack.i64[slot * 2 + 1] = value
}

/** What the errors of {@link unsupported} expected. */
const EXPECTED = 'a value that packed functions take'
const HINT =
  'Pass null, a boolean, a number, a bigint, text, bytes, a tensor, a string tensor, a function, a native object, or an array or Map of them.'

function unsupported(value: unknown): PackedFuncTypeError {
  const received = describe(value)
  return new PackedFuncTypeError('TypeError', `a packed function cannot take ${received}`, {
    hint: HINT,
    details: { expected: EXPECTED, received },
  })
}

/** Packs an argument of a call. An error for a value that no function takes, also inside a container, says which argument. */
export function packArgument(stack: Stack, slot: number, index: number, value: unknown): void {
  try {
    pack(stack, slot, value)
  } catch (error) {
    throw located(error, index)
  }
}

/** As `lendTensor()` for an argument of a call. */
export function lendArgument(stack: Stack, slot: number, index: number, tensor: Tensor, isOnlyRead = false): void {
  try {
    lendTensor(stack, slot, tensor, isOnlyRead)
  } catch (error) {
    throw located(error, index)
  }
}

/** Returns an error that says which argument a call has refused, or other errors as they are. */
function located(error: unknown, index: number): unknown {
  if (error instanceof ReadOnlyError) {
    const { sentence, hint, details } = error
    return new ReadOnlyError(`argument ${index + 1}: ${sentence}`, { hint, details: { ...details, path: [index] } })
  }
  if (!(error instanceof PackedFuncTypeError) || error.details['expected'] !== EXPECTED) return error
  return new PackedFuncTypeError('TypeError', `argument ${index + 1}: ${error.sentence}`, {
    hint: error.hint,
    details: { ...error.details, path: [index] },
  })
}
