import { Tensor } from '@tenon/core'
import { NativeObject } from '../objects/native-object.ts'
import { DataType, FloatValue, IntValue, isInt64, OpaquePointer } from '../values/scalars.ts'

/** What tvm-ffi calls the type of a value: the words of its messages. */
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

function objectName(value: object): string {
  if (value instanceof NativeObject) return value.isAlive ? value.typeKey : 'a native object that is disposed of'
  if (value instanceof Tensor) return 'ffi.Tensor'
  if (value instanceof Uint8Array) return 'bytes'
  if (value instanceof IntValue) return 'int'
  if (value instanceof FloatValue) return 'float'
  if (value instanceof DataType) return 'DataType'
  if (value instanceof OpaquePointer) return 'void*'
  if (Array.isArray(value)) return 'ffi.Array'
  if (value instanceof Map) return 'ffi.Map'
  return value.constructor?.name ?? 'Object'
}
