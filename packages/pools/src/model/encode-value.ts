import { ArgumentError, ArgumentRangeError } from '@tenon/core'
import { describe, encodeMiniFloat } from '@tenon/core/internal'
import { operandTypes, type OperandType } from './operand-types.ts'

/** The value of a constant: a number or boolean for a scalar, numbers, or bytes as they lie in memory. */
export type ConstantValue = number | boolean | readonly number[] | ArrayBufferView

type Write = (view: DataView, at: number, value: number) => void

/** A writer of one number, and the range of whole numbers that it takes. */
type Encoder = readonly [write: Write, least?: number, most?: number]

const float32: Encoder = [(view, at, value) => view.setFloat32(at, value, true)]
const float16: Encoder = [(view, at, value) => view.setUint16(at, encodeMiniFloat('float16', value), true)]
const int32: Encoder = [(view, at, value) => view.setInt32(at, value, true), -(2 ** 31), 2 ** 31 - 1]
const bool: Encoder = [(view, at, value) => view.setUint8(at, value), 0, 1]
const int8: Encoder = [(view, at, value) => view.setInt8(at, value), -128, 127]

const encoders: Partial<Record<OperandType, Encoder>> = {
  FLOAT32: float32,
  TENSOR_FLOAT32: float32,
  FLOAT16: float16,
  TENSOR_FLOAT16: float16,
  INT32: int32,
  TENSOR_INT32: int32,
  UINT32: [(view, at, value) => view.setUint32(at, value, true), 0, 2 ** 32 - 1],
  BOOL: bool,
  TENSOR_BOOL8: bool,
  TENSOR_QUANT8_ASYMM: [(view, at, value) => view.setUint8(at, value), 0, 255],
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
  const encoder = encoders[type]
  if (encoder === undefined) throw new ArgumentError(`the value of a ${type} must be bytes, got ${describe(value)}`)
  const [write, least, most] = encoder
  const { byteSize } = operandTypes[type]
  const bytes = new Uint8Array(numbers.length * byteSize)
  const view = new DataView(bytes.buffer)
  numbers.forEach((number, i) => {
    const name = `the value of a ${type}`
    if (typeof number !== 'number') throw new ArgumentError(`${name} must be numbers, got ${describe(number)}`)
    if (least !== undefined && !(Number.isInteger(number) && number >= least && number <= most!))
      throw new ArgumentRangeError(`${name} must be whole, from ${least} to ${most}, got ${describe(number)}`)
    write(view, i * byteSize, number)
  })
  return bytes
}
