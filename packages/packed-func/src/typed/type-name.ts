import { Tensor } from '@tenon/core'
import { NativeObject } from '../objects/native-object.ts'
import { DataType, FloatValue, IntValue, isInt64, OpaquePointer } from '../values/scalars.ts'

/** The name that the messages of tvm-ffi have for the type of a value. */
export function typeName(value: unknown): string {
  switch (typeof value) {
    case 'undefined':
      return 'None'
    case 'boolean':
      return 'bool'
    case 'bigint':
      return isInt64(value) ? 'int' : 'an int beyond 64 bits'
    case 'number':
      return Number.isSafeInteger(value) && !Object.is(value, -0) ? 'int' : 'float'
    case 'string':
      return 'str'
    case 'function':
      return 'ffi.Function'
    case 'object':
      return value === null ? 'None' : objectName(value)
    default:
      return typeof value
  }
}

const names = [
  [Tensor, 'ffi.Tensor'],
  [Uint8Array, 'bytes'],
  [IntValue, 'int'],
  [FloatValue, 'float'],
  [DataType, 'DataType'],
  [OpaquePointer, 'void*'],
  [Array, 'ffi.Array'],
  [Map, 'ffi.Map'],
] as const

function objectName(value: object): string {
  if (value instanceof NativeObject) return value.isAlive ? value.typeKey : 'a native object that is closed'
  return names.find(([constructor]) => value instanceof constructor)?.[1] ?? value.constructor?.name ?? 'Object'
}
