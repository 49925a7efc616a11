import { ArgumentError, ArgumentRangeError } from '@tenon/core'
import { describe, encodeMiniFloat } from '@tenon/core/internal'
import { operandTypes, type OperandType } from './operand-types.ts'

/** What the value of a constant may be given as: a number or boolean for a scalar, numbers, or bytes as they lie in memory. */
export type ConstantValue = number | boolean | readonly number[] | ArrayBufferView

const writers: Partial<Record<OperandType, (view: DataView, at: number, value: number) => void>> = {
  FLOAT32: (view, at, value) => view.setFloat32(at, value, true),
  TENSOR_FLOAT32: (view, at, value) => view.setFloat32(at, value, true),
  FLOAT16: (view, at, value) => view.setUint16(at, encodeMiniFloat('float16', value), true),
  TENSOR_FLOAT16: (view, at, value) => view.setUint16(at, encodeMiniFloat('float16', value), true),
  INT32: (view, at, value) => view.setInt32(at, value, true),
  TENSOR_INT32: (view, at, value) => view.setInt32(at, value, true),
  UINT32: (view, at, value) => view.setUint32(at, value, true),
  BOOL: (view, at, value) => view.setUint8(at, value),
  TENSOR_BOOL8: (view, at, value) => view.setUint8(at, value),
  TENSOR_QUANT8_ASYMM: (view, at, value) => view.setUint8(at, value),
  TENSOR_QUANT8_ASYMM_SIGNED: (view, at, value) => view.setInt8(at, value),
  TENSOR_QUANT8_SYMM: (view, at, value) => view.setInt8(at, value),
  TENSOR_QUANT8_SYMM_PER_CHANNEL: (view, at, value) => view.setInt8(at, value),
}

const ranges: Partial<Record<OperandType, readonly [least: number, most: number]>> = {
  INT32: [-(2 ** 31), 2 ** 31 - 1],
  TENSOR_INT32: [-(2 ** 31), 2 ** 31 - 1],
  UINT32: [0, 2 ** 32 - 1],
  BOOL: [0, 1],
  TENSOR_BOOL8: [0, 1],
  TENSOR_QUANT8_ASYMM: [0, 255],
  TENSOR_QUANT8_ASYMM_SIGNED: [-128, 127],
  TENSOR_QUANT8_SYMM: [-128, 127],
  TENSOR_QUANT8_SYMM_PER_CHANNEL: [-128, 127],
}

/**
 * The bytes of a constant, little-endian, as drivers read them.
 *
 * @throws {ArgumentError} if the type takes bytes alone. @throws {ArgumentRangeError} if a number doesn't fit the type.
 */
export function encodeValue(type: OperandType, value: ConstantValue): Uint8Array {
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice()
  const numbers = Array.isArray(value)
    ? (value as readonly unknown[])
    : [typeof value === 'boolean' ? Number(value) : value]
  const write = writers[type]
  if (write === undefined)
    throw new ArgumentError(`the value of a ${type} must be given as bytes, got ${describe(value)}`)
  const { byteSize } = operandTypes[type]
  const bytes = new Uint8Array(numbers.length * byteSize)
  const view = new DataView(bytes.buffer)
  const range = ranges[type]
  numbers.forEach((number, i) => {
    if (typeof number !== 'number')
      throw new ArgumentError(`the value of a ${type} must be numbers, got ${describe(number)}`)
    if (range !== undefined && !(Number.isInteger(number) && number >= range[0] && number <= range[1])) {
      throw new ArgumentRangeError(
        `the value of a ${type} must be whole, from ${range[0]} to ${range[1]}, got ${describe(number)}`,
      )
    }
    write(view, i * byteSize, number)
  })
  return bytes
}
