import { Tensor } from '@tenon/core'
import { openStack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { cellOf, NativeObject, typeKeyOf } from '../objects/native-object.ts'
import type { Value } from './argument.ts'
import { DataType, DeviceValue, FloatValue, IntValue, isInt64, OpaquePointer } from './scalars.ts'

type Class = abstract new (...values: never[]) => object

const classes: readonly (readonly [Class, number])[] = [
  [IntValue, TypeIndex.Int],
  [FloatValue, TypeIndex.Float],
  [Uint8Array, TypeIndex.Bytes],
  [Tensor, TypeIndex.Tensor],
  [DataType, TypeIndex.DataType],
  [DeviceValue, TypeIndex.Device],
  [OpaquePointer, TypeIndex.OpaquePtr],
  [Array, TypeIndex.Array],
  [Map, TypeIndex.Map],
]

/** Returns undefined for values without a type of their own. */
export function typeIndexOf(value: unknown): number | undefined {
  switch (typeof value) {
    case 'undefined':
      return TypeIndex.None
    case 'boolean':
      return TypeIndex.Bool
    case 'bigint':
      return TypeIndex.Int
    case 'number':
      return Number.isSafeInteger(value) && !Object.is(value, -0) ? TypeIndex.Int : TypeIndex.Float
    case 'string':
      return TypeIndex.RawStr
    case 'function':
      return TypeIndex.Function
    default:
      if (value === null) return TypeIndex.None
      return value instanceof NativeObject
        ? cellOf(value).typeIndex
        : classes.find(([constructor]) => value instanceof constructor)?.[1]
  }
}

export function typeName(value: unknown): string {
  if (typeof value === 'bigint' && !isInt64(value)) return 'an int beyond 64 bits'
  if (value instanceof NativeObject && !value.isAlive) return 'a native object that is closed'
  const typeIndex = typeIndexOf(value)
  if (typeIndex === TypeIndex.RawStr) return 'str'
  if (typeIndex === TypeIndex.Bytes) return 'bytes'
  return typeIndex === undefined ? ((value as object).constructor?.name ?? typeof value) : typeKeyOf(typeIndex)
}

/** The type indices of the arguments of the running callback. Valid at its start. */
export function argumentTypes(values: readonly Value[]): number[] {
  // The arguments are the last slots of the stack.
  const first = openStack().top - values.length
  return values.map((value, i) => typeAt(first + i, value))
}

/** The type index of the result of a call. Valid right after the call. */
export const resultType = (value: Value): number => typeAt(openStack().top, value)

/** Reading an element type overwrites its slot with text. */
const typeAt = (slot: number, value: Value): number =>
  value instanceof DataType ? TypeIndex.DataType : openStack().i32[slot * 4]!
