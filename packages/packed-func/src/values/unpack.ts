import { coreFunctions, LAYOUTS } from '@tenon/core/internal'
import { errorAt } from '../errors/crossing.ts'
import { InternalError } from '../errors/error-kinds.ts'
import type { Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { wrapObject } from '../objects/native-object.ts'
import { borrowedTensor, tensorOf } from '../tensors/unpack-tensor.ts'
import type { Value } from './argument.ts'
import { dataTypeAt, DeviceValue, OpaquePointer } from './scalars.ts'
import { readSmallBytes, readSmallText } from './text.ts'

type Reader = (stack: Stack, slot: number) => Value

/** Reads results by type index, and takes over the reference of an object. Types that are missing here are objects. */
const byType: Readonly<Record<number, Reader>> = {
  [TypeIndex.None]: () => null,
  [TypeIndex.Int]: readInt,
  [TypeIndex.Bool]: (stack, slot) => stack.i32[slot * 4 + 2] !== 0,
  [TypeIndex.Float]: (stack, slot) => stack.f64[slot * 2 + 1]!,
  [TypeIndex.OpaquePtr]: (stack, slot) => new OpaquePointer(BigInt.asUintN(64, stack.i64[slot * 2 + 1]!)),
  [TypeIndex.DataType]: dataTypeAt,
  [TypeIndex.Device]: (stack, slot) => new DeviceValue(stack.i32[slot * 4 + 2]!, stack.i32[slot * 4 + 3]!),
  [TypeIndex.SmallStr]: readSmallText,
  [TypeIndex.SmallBytes]: readSmallBytes,
  [TypeIndex.Str]: readText,
  [TypeIndex.Bytes]: readBytes,
}
const readers = Array.from({ length: TypeIndex.Bytes + 1 }, (_, typeIndex) => byType[typeIndex])

/** The value of a result's slot. The caller takes over the reference of an object, and the slot loses it. */
export function unpack(stack: Stack, slot: number, typeIndex: number): Value {
  const value = unpackOwned(stack, slot, typeIndex)
  if (typeIndex >= TypeIndex.Object) stack.f64[slot * 2 + 1] = 0
  return value
}

function unpackOwned(stack: Stack, slot: number, typeIndex: number): Value {
  const read = typeIndex <= TypeIndex.Bytes ? readers[typeIndex] : undefined
  if (read !== undefined) return read(stack, slot)
  if (typeIndex < TypeIndex.Object) {
    throw new InternalError(`a function cannot return a value of type index ${typeIndex}, which calls only borrow`)
  }
  return objectAt(stack, typeIndex, stack.pointer(slot))
}

/** The value of an argument's slot, which is borrowed: text is copied, and objects get another reference. */
export function unpackArgument(stack: Stack, slot: number): Value {
  const typeIndex = stack.i32[slot * 4]!
  if (typeIndex === TypeIndex.Int) return readInt(stack, slot)
  switch (typeIndex) {
    case TypeIndex.RawStr:
    case TypeIndex.Str:
      return textAt(stack, slot).toString()
    case TypeIndex.ByteArrayPtr:
    case TypeIndex.Bytes:
      return new Uint8Array(textAt(stack, slot))
    case TypeIndex.DLTensorPtr:
      return borrowedTensor(stack, stack.pointer(slot))
    case TypeIndex.ObjectRValueRef:
      return unpackMoved(stack, slot)
    default:
      if (typeIndex >= TypeIndex.Object) stack.host.tn_packed_retain(objectIn(stack, slot))
      return unpackOwned(stack, slot, typeIndex)
  }
}

/** The address of the object in an argument's slot. @throws {InternalError} if it is null */
function objectIn(stack: Stack, slot: number): number {
  const address = stack.pointer(slot)
  if (address === 0) throw new InternalError('an argument of a function is an object that is null')
  return address
}

/** Takes over an object that the caller offers, and leaves null in the caller's cell. */
function unpackMoved(stack: Stack, slot: number): Value {
  const cell = stack.pointer(slot)
  const object = Number(stack.copyOf(cell, 8).readBigUInt64LE())
  if (object === 0) throw new InternalError('RValueRef already moved')
  coreFunctions().tn_memory_copy(cell, stack.zeroAddress(), 8)
  return objectAt(stack, stack.copyOf(object + LAYOUTS.TVMFFIObject.offsets.type_index, 4).readInt32LE(), object)
}

/** Takes over a reference. */
function objectAt(stack: Stack, typeIndex: number, address: number): Value {
  if (typeIndex === TypeIndex.Tensor) return tensorOf(stack, address)
  if (typeIndex === TypeIndex.Error) return errorAt(stack, address) as Error
  return wrapObject(typeIndex, address)
}

function readInt(stack: Stack, slot: number): number | bigint {
  const at = slot * 4
  const low = stack.i32[at + 2]!
  const high = stack.i32[at + 3]!
  if (high === low >> 31) return low
  const value = high * 2 ** 32 + (low >>> 0)
  return Number.isSafeInteger(value) ? value : stack.i64[slot * 2 + 1]!
}

/** The call copied the text to the output region, or left it in an object because it was too long. */
function readText(stack: Stack, slot: number): string {
  if (stack.i32[slot * 4 + 1] === 1) return stack.outText(stack.i32[slot * 4 + 2]!)
  return takeLong(stack, slot).toString()
}

function readBytes(stack: Stack, slot: number): Uint8Array {
  if (stack.i32[slot * 4 + 1] === 1) return stack.outBytes(stack.i32[slot * 4 + 2]!)
  return new Uint8Array(takeLong(stack, slot))
}

function takeLong(stack: Stack, slot: number): Buffer {
  const object = stack.pointer(slot)
  const copy = textAt(stack, slot)
  stack.release(object)
  return copy
}

function textAt(stack: Stack, slot: number): Buffer {
  objectIn(stack, slot)
  stack.host.tn_packed_text(stack.address, stack.slotAddress(slot))
  return stack.copyOfWords(0, 1)
}
