import { ArgumentRangeError, Tensor } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { putError } from '../errors/crossing.ts'
import { PackedFuncTypeError } from '../errors/packed-func-error.ts'
import { packArray, packMap } from '../objects/pack-container.ts'
import { packTensor, packTensorView } from '../tensors/pack-tensor.ts'
import { packCallback } from '../functions/closure.ts'
import { NativeObject } from '../objects/native-object.ts'
import { TypeIndex } from '../native/type-index.ts'
import type { Stack } from '../native/stack.ts'
import { packRValue } from './pack-rvalue.ts'
import { DataType, FloatValue, IntValue, isInt64, OpaquePointer } from './scalars.ts'
import { packBytes, packText } from './text.ts'
import { RValue, TensorView } from './wrappers.ts'

/** Writes a value of JavaScript into a slot. What it made besides is undone by `stack.settle()`. */
export function pack(stack: Stack, slot: number, value: unknown): void {
  const at = slot * 4
  const { i32 } = stack
  switch (typeof value) {
    case 'number':
      if ((value | 0) === value && (value !== 0 || 1 / value > 0)) {
        i32[at] = TypeIndex.Int
        i32[at + 1] = 0
        i32[at + 2] = value
        i32[at + 3] = value >> 31
      } else {
        packNumber(stack, slot, value)
      }
      return
    case 'boolean':
      i32[at] = TypeIndex.Bool
      i32[at + 1] = 0
      i32[at + 2] = value ? 1 : 0
      i32[at + 3] = 0
      return
    case 'string':
      packText(stack, slot, value)
      return
    case 'bigint':
      packBigInt(stack, slot, value)
      return
    case 'undefined':
      packNone(stack, slot)
      return
    case 'object':
      if (value === null) packNone(stack, slot)
      else packObject(stack, slot, value)
      return
    case 'function':
      packCallback(stack, slot, value as (...values: never[]) => unknown)
      return
    default:
      throw unsupported(value)
  }
}

function packNone(stack: Stack, slot: number): void {
  stack.i32[slot * 4] = TypeIndex.None
  stack.i32[slot * 4 + 1] = 0
  stack.f64[slot * 2 + 1] = 0
}

/** A number that is no int32. */
function packNumber(stack: Stack, slot: number, value: number): void {
  if (Number.isSafeInteger(value) && !Object.is(value, -0)) packInteger(stack, slot, value)
  else packFloat(stack, slot, value)
}

function packFloat(stack: Stack, slot: number, value: number): void {
  stack.i32[slot * 4] = TypeIndex.Float
  stack.i32[slot * 4 + 1] = 0
  stack.f64[slot * 2 + 1] = value
}

/** A safe integer. */
function packInteger(stack: Stack, slot: number, value: number): void {
  const at = slot * 4
  stack.i32[at] = TypeIndex.Int
  stack.i32[at + 1] = 0
  // Stores to an Int32Array keep the low 32 bits.
  stack.i32[at + 2] = value
  stack.i32[at + 3] = Math.floor(value / 2 ** 32)
}

function packBigInt(stack: Stack, slot: number, value: bigint): void {
  if (!isInt64(value)) {
    throw new ArgumentRangeError(`an integer must be from -2^63 to 2^63 - 1, ${value} is too large to fit in int64_t`, {
      hint: 'pass it as text or as bytes.',
    })
  }
  stack.i32[slot * 4] = TypeIndex.Int
  stack.i32[slot * 4 + 1] = 0
  stack.i64[slot * 2 + 1] = value
}

function packObject(stack: Stack, slot: number, value: object): void {
  if (value instanceof Tensor) packTensor(stack, slot, value)
  else if (value instanceof NativeObject) packNative(stack, slot, value)
  else if (value instanceof FloatValue) packFloat(stack, slot, value.value)
  else if (value instanceof IntValue) packWhole(stack, slot, value.value)
  else if (value instanceof Uint8Array) packBytes(stack, slot, value)
  else if (Array.isArray(value)) packArray(stack, slot, value)
  else if (value instanceof Map) packMap(stack, slot, value)
  else packRare(stack, slot, value)
}

/** An object of native code, which only the call may use. */
export function packNative(stack: Stack, slot: number, object: NativeObject): void {
  if (object.handle === 0) object.checkAlive()
  stack.f64[slot * 2] = object.tag
  stack.f64[slot * 2 + 1] = object.pointer
}

function packWhole(stack: Stack, slot: number, value: number | bigint): void {
  if (typeof value === 'bigint') packBigInt(stack, slot, value)
  else packInteger(stack, slot, value)
}

function packRare(stack: Stack, slot: number, value: object): void {
  if (value instanceof TensorView) packTensorView(stack, slot, value.tensor)
  else if (value instanceof RValue) packRValue(stack, slot, value.object)
  else if (value instanceof Error) packError(stack, slot, value)
  else if (value instanceof DataType) packDataType(stack, slot, value)
  else if (value instanceof OpaquePointer) packPointer(stack, slot, value.address)
  else if (isDevice(value)) packDevice(stack, slot, value.type, value.id)
  else throw unsupported(value)
}

function packError(stack: Stack, slot: number, error: Error): void {
  putError(stack, slot, error)
  stack.undo.push(slot)
}

/** All 64 bits, whatever they are: nothing says that they are an address. */
function packPointer(stack: Stack, slot: number, address: bigint): void {
  stack.i32[slot * 4] = TypeIndex.OpaquePtr
  stack.i32[slot * 4 + 1] = 0
  stack.i64[slot * 2 + 1] = address
}

function packDataType(stack: Stack, slot: number, { code, bits, lanes }: DataType): void {
  const at = slot * 4
  stack.i32[at] = TypeIndex.DataType
  stack.i32[at + 1] = 0
  stack.i32[at + 2] = code | (bits << 8) | (lanes << 16)
  stack.i32[at + 3] = 0
}

function packDevice(stack: Stack, slot: number, type: number, id: number): void {
  const at = slot * 4
  stack.i32[at] = TypeIndex.Device
  stack.i32[at + 1] = 0
  stack.i32[at + 2] = type
  stack.i32[at + 3] = id
}

const isInt32 = (value: unknown): boolean => typeof value === 'number' && (value | 0) === value

function isDevice(value: object): value is { type: number; id: number } {
  return 'type' in value && 'id' in value && isInt32(value.type) && isInt32(value.id)
}

function unsupported(value: unknown): PackedFuncTypeError {
  return new PackedFuncTypeError('TypeError', `a packed function can't take ${describe(value)}`)
}
