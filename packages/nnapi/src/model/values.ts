import { ArgumentError, type DType } from '@tenon/core'
import { describe, type ElementCodec, elementCodec } from '@tenon/core/internal'
import type { OperandType } from './operand-types.ts'

/** The value of a constant: a number or boolean for a scalar, numbers, or bytes as they lie in memory. */
export type ConstantValue = number | boolean | readonly number[] | ArrayBufferView

const dtypes: Partial<Record<OperandType, DType>> = {
  FLOAT32: 'float32',
  TENSOR_FLOAT32: 'float32',
  FLOAT16: 'float16',
  TENSOR_FLOAT16: 'float16',
  INT32: 'int32',
  TENSOR_INT32: 'int32',
  UINT32: 'uint32',
  BOOL: 'bool',
  TENSOR_BOOL8: 'bool',
  TENSOR_QUANT8_ASYMM: 'uint8',
  TENSOR_QUANT8_ASYMM_SIGNED: 'int8',
  TENSOR_QUANT8_SYMM: 'int8',
  TENSOR_QUANT8_SYMM_PER_CHANNEL: 'int8',
}

function codecOf(type: OperandType): ElementCodec | undefined {
  const dtype = dtypes[type]
  return dtype === undefined ? undefined : elementCodec(dtype)
}

/** Returns the bytes of a constant, little-endian. @throws {ArgumentError | ArgumentRangeError} for a wrong value */
export function encodeValue(type: OperandType, value: ConstantValue): Uint8Array {
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice()
  const codec = codecOf(type)
  if (codec === undefined) throw new ArgumentError(`the value of a ${type} must be bytes, got ${describe(value)}`)
  const numbers: readonly unknown[] = Array.isArray(value)
    ? value
    : [typeof value === 'boolean' ? Number(value) : value]
  const bytes = new Uint8Array(numbers.length * codec.byteSize)
  const view = new DataView(bytes.buffer)
  numbers.forEach((number, i) => codec.write(view, i * codec.byteSize, number))
  return bytes
}

/** Returns the numbers of a value, each read once; undefined for types that are not numbers. */
export function numbersOf(type: OperandType, bytes: Buffer): number[] | undefined {
  const codec = codecOf(type)
  if (codec === undefined) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  return Array.from({ length: bytes.length / codec.byteSize }, (_, i) => Number(codec.read(view, i * codec.byteSize)))
}
