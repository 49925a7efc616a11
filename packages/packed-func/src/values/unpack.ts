import { errorAt } from '../errors/crossing.ts'
import { InternalError } from '../errors/kind-classes.ts'
import type { Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { wrapObject } from '../objects/wrap.ts'
import { borrowedTensor } from '../tensors/unpack-tensor.ts'
import type { Value } from './argument.ts'
import { dataTypeAt } from './data-type.ts'
import { DeviceValue, OpaquePointer } from './scalars.ts'
import { readSmallBytes, readSmallText } from './text.ts'

type Reader = (stack: Stack, slot: number) => Value

/** Reads results by type index; an owned object is taken over. What is not here is an object. */
const readers: readonly (Reader | undefined)[] = Object.assign(new Array<Reader | undefined>(TypeIndex.Error + 1), {
  [TypeIndex.None]: () => null,
  [TypeIndex.Int]: readInt,
  [TypeIndex.Bool]: (stack: Stack, slot: number) => stack.i32[slot * 4 + 2] !== 0,
  [TypeIndex.Float]: (stack: Stack, slot: number) => stack.f64[slot * 2 + 1]!,
  [TypeIndex.OpaquePtr]: (stack: Stack, slot: number) =>
    new OpaquePointer(BigInt.asUintN(64, stack.i64[slot * 2 + 1]!)),
  [TypeIndex.DataType]: dataTypeAt,
  [TypeIndex.Device]: (stack: Stack, slot: number) =>
    new DeviceValue(stack.i32[slot * 4 + 2]!, stack.i32[slot * 4 + 3]!),
  [TypeIndex.SmallStr]: readSmallText,
  [TypeIndex.SmallBytes]: readSmallBytes,
  [TypeIndex.Str]: readText,
  [TypeIndex.Bytes]: readBytes,
  [TypeIndex.Error]: (stack: Stack, slot: number) => errorAt(stack, stack.pointer(slot)) as Error,
})

/** The value of a result's slot. Owned: what it refers to becomes the caller's, and the slot names it no more. */
export function unpack(stack: Stack, slot: number, typeIndex: number): Value {
  const value = unpackOwned(stack, slot, typeIndex)
  if (typeIndex >= TypeIndex.Object) stack.f64[slot * 2 + 1] = 0
  return value
}

function unpackOwned(stack: Stack, slot: number, typeIndex: number): Value {
  const read = typeIndex <= TypeIndex.Error ? readers[typeIndex] : undefined
  if (read !== undefined) return read(stack, slot)
  if (typeIndex < TypeIndex.Object) {
    throw new InternalError(`a function can't return a value of type index ${typeIndex}: it is only lent to calls`)
  }
  return wrapObject(stack, typeIndex, stack.pointer(slot))
}

/** The value of an argument's slot, which is only lent: text is copied, objects get a reference of their own. */
export function unpackArgument(stack: Stack, slot: number): Value {
  const typeIndex = stack.i32[slot * 4]!
  if (typeIndex === TypeIndex.Int) return readInt(stack, slot)
  switch (typeIndex) {
    case TypeIndex.RawStr:
    case TypeIndex.Str:
      return peek(stack, slot).toString()
    case TypeIndex.ByteArrayPtr:
    case TypeIndex.Bytes:
      return new Uint8Array(peek(stack, slot))
    case TypeIndex.DLTensorPtr:
      return borrowedTensor(stack, stack.pointer(slot))
    case TypeIndex.ObjectRValueRef:
      return unpackMoved(stack, slot)
    default:
      if (typeIndex >= TypeIndex.Object) stack.host.retain(stack.pointer(slot))
      return unpackOwned(stack, slot, typeIndex)
  }
}

/** Takes the object over that the caller offers, and tells it so. */
function unpackMoved(stack: Stack, slot: number): Value {
  const place = stack.pointer(slot)
  const moved = stack.copyOf(place, 8)
  const object = Number(moved.readBigUInt64LE())
  if (object === 0) throw new InternalError('RValueRef already moved')
  stack.host.copy(stack.zeroAddress(), place, 8)
  return wrapObject(stack, stack.copyOf(object + 8, 4).readInt32LE(), object)
}

function readInt(stack: Stack, slot: number): number | bigint {
  const at = slot * 4
  const low = stack.i32[at + 2]!
  const high = stack.i32[at + 3]!
  if (high === low >> 31) return low
  const value = high * 2 ** 32 + (low >>> 0)
  return Number.isSafeInteger(value) ? value : stack.i64[slot * 2 + 1]!
}

/** Text that the call copied out, or that was too long for that and is in an object still. */
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
  stack.host.text(stack.address, stack.slotAddress(slot))
  const copy = stack.copyOf(Number(stack.words[0]), Number(stack.words[1]))
  stack.host.release(object)
  return copy
}

/** A copy of text that stays its owner's. */
function peek(stack: Stack, slot: number): Buffer {
  stack.host.text(stack.address, stack.slotAddress(slot))
  return stack.copyOf(Number(stack.words[0]), Number(stack.words[1]))
}
