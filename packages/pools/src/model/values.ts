import { ArgumentError, ArgumentRangeError } from '@tenon/core'
import { decodeMiniFloat, describe, encodeMiniFloat } from '@tenon/core/internal'
import { operandTypes, type OperandType } from './operand-types.ts'

/** The value of a constant: a number or boolean for a scalar, numbers, or bytes as they lie in memory. */
export type ConstantValue = number | boolean | readonly number[] | ArrayBufferView

/** Reads and writes one number, which must be whole and in the range, if there is one. */
interface Codec {
  readonly read: (view: DataView, at: number) => number
  readonly write: (view: DataView, at: number, value: number) => void
  readonly range?: readonly [least: number, most: number]
}

const float32: Codec = {
  read: (view, at) => view.getFloat32(at, true),
  write: (view, at, value) => view.setFloat32(at, value, true),
}
const float16: Codec = {
  read: (view, at) => decodeMiniFloat('float16', view.getUint16(at, true)),
  write: (view, at, value) => view.setUint16(at, encodeMiniFloat('float16', value), true),
}
const int32: Codec = {
  read: (view, at) => view.getInt32(at, true),
  write: (view, at, value) => view.setInt32(at, value, true),
  range: [-(2 ** 31), 2 ** 31 - 1],
}
const uint32: Codec = {
  read: (view, at) => view.getUint32(at, true),
  write: (view, at, value) => view.setUint32(at, value, true),
  range: [0, 2 ** 32 - 1],
}
const uint8: Codec = {
  read: (view, at) => view.getUint8(at),
  write: (view, at, value) => view.setUint8(at, value),
  range: [0, 255],
}
const int8: Codec = {
  read: (view, at) => view.getInt8(at),
  write: (view, at, value) => view.setInt8(at, value),
  range: [-128, 127],
}
const bool: Codec = { ...uint8, range: [0, 1] }

const codecs: Partial<Record<OperandType, Codec>> = {
  FLOAT32: float32,
  TENSOR_FLOAT32: float32,
  FLOAT16: float16,
  TENSOR_FLOAT16: float16,
  INT32: int32,
  TENSOR_INT32: int32,
  UINT32: uint32,
  BOOL: bool,
  TENSOR_BOOL8: bool,
  TENSOR_QUANT8_ASYMM: uint8,
  TENSOR_QUANT8_ASYMM_SIGNED: int8,
  TENSOR_QUANT8_SYMM: int8,
  TENSOR_QUANT8_SYMM_PER_CHANNEL: int8,
}

/**
 * Returns the bytes of a constant, little-endian, as drivers read them.
 *
 * @throws {ArgumentError} if the type takes only bytes. @throws {ArgumentRangeError} if a number does not fit the type.
 */
export function encodeValue(type: OperandType, value: ConstantValue): Uint8Array {
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice()
  const numbers: readonly unknown[] = Array.isArray(value)
    ? value
    : [typeof value === 'boolean' ? Number(value) : value]
  const codec = codecs[type]
  if (codec === undefined) throw new ArgumentError(`the value of a ${type} must be bytes, got ${describe(value)}`)
  const { byteSize } = operandTypes[type]
  const bytes = new Uint8Array(numbers.length * byteSize)
  const view = new DataView(bytes.buffer)
  numbers.forEach((number, i) => {
    const name = `the value of a ${type}`
    if (typeof number !== 'number') throw new ArgumentError(`${name} must be numbers, got ${describe(number)}`)
    const [least, most] = codec.range ?? []
    if (least !== undefined && !(Number.isInteger(number) && number >= least && number <= most!))
      throw new ArgumentRangeError(`${name} must be whole, from ${least} to ${most}, got ${describe(number)}`)
    codec.write(view, i * byteSize, number)
  })
  return bytes
}

/** Returns the numbers of a value, each read once; undefined for types that are not numbers. */
export function numbersOf(type: OperandType, bytes: Buffer): number[] | undefined {
  const codec = codecs[type]
  if (codec === undefined) return undefined
  const { byteSize } = operandTypes[type]
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  return Array.from({ length: bytes.length / byteSize }, (_, i) => codec.read(view, i * byteSize))
}
