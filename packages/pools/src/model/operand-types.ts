import { invalid } from '../error-status.ts'

/** NNAPI's operand types by name. */
export type OperandType =
  | 'FLOAT32'
  | 'INT32'
  | 'UINT32'
  | 'TENSOR_FLOAT32'
  | 'TENSOR_INT32'
  | 'TENSOR_QUANT8_ASYMM'
  | 'BOOL'
  | 'TENSOR_QUANT16_SYMM'
  | 'TENSOR_FLOAT16'
  | 'TENSOR_BOOL8'
  | 'FLOAT16'
  | 'TENSOR_QUANT8_SYMM_PER_CHANNEL'
  | 'TENSOR_QUANT16_ASYMM'
  | 'TENSOR_QUANT8_SYMM'
  | 'TENSOR_QUANT8_ASYMM_SIGNED'
  | 'SUBGRAPH'
  | 'OEM'
  | 'TENSOR_OEM_BYTE'

/** What is known of an operand type. */
export interface OperandTypeInfo {
  /** NNAPI's number. */
  readonly number: number
  /** Bytes of an element. */
  readonly byteSize: number
  readonly isTensor: boolean
  /** What the zero point of a quantized type may be; undefined for the other types. */
  readonly zeroPoint?: readonly [least: number, most: number]
}

const scalar = (number: number, byteSize: number): OperandTypeInfo => ({ number, byteSize, isTensor: false })
const tensor = (number: number, byteSize: number): OperandTypeInfo => ({ number, byteSize, isTensor: true })
const quantized = (number: number, byteSize: number, least: number, most: number): OperandTypeInfo => ({
  number,
  byteSize,
  isTensor: true,
  zeroPoint: [least, most],
})

/** The one table of operand types (HAL `OperandType`). */
export const operandTypes: Readonly<Record<OperandType, OperandTypeInfo>> = {
  FLOAT32: scalar(0, 4),
  INT32: scalar(1, 4),
  UINT32: scalar(2, 4),
  TENSOR_FLOAT32: tensor(3, 4),
  TENSOR_INT32: tensor(4, 4),
  TENSOR_QUANT8_ASYMM: quantized(5, 1, 0, 255),
  BOOL: scalar(6, 1),
  TENSOR_QUANT16_SYMM: quantized(7, 2, 0, 0),
  TENSOR_FLOAT16: tensor(8, 2),
  TENSOR_BOOL8: tensor(9, 1),
  FLOAT16: scalar(10, 2),
  TENSOR_QUANT8_SYMM_PER_CHANNEL: tensor(11, 1),
  TENSOR_QUANT16_ASYMM: quantized(12, 2, 0, 65_535),
  TENSOR_QUANT8_SYMM: quantized(13, 1, 0, 0),
  TENSOR_QUANT8_ASYMM_SIGNED: quantized(14, 1, -128, 127),
  SUBGRAPH: scalar(15, 0),
  OEM: scalar(10_000, 0),
  TENSOR_OEM_BYTE: tensor(10_001, 1),
}

/** Whether the size of a type's values is its maker's business: nothing says what it must be. */
export const isOpaque = (type: OperandType): boolean => type === 'OEM' || type === 'TENSOR_OEM_BYTE'

/** Whether a value is a whole number from 0 to 2^32 - 1, as all sizes and offsets of NNAPI are. */
export function isU32(value: unknown): value is number {
  return (
    typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff && !Object.is(value, -0)
  )
}

/** Whether dimensions leave nothing open. A tensor without dimensions has an unknown rank. */
export function isFullySpecified(type: OperandType, dimensions: readonly number[]): boolean {
  return !operandTypes[type].isTensor || (dimensions.length > 0 && !dimensions.includes(0))
}

/**
 * The size of a value in bytes; 0 if its dimensions aren't known.
 *
 * @throws {PoolsError} M9, if it doesn't fit 32 bits; each step of the product is checked.
 */
export function operandByteSize(type: OperandType, dimensions: readonly number[], path = 'operand'): number {
  const { byteSize, isTensor } = operandTypes[type]
  if (!isTensor) return byteSize
  if (dimensions.length === 0) return 0
  let product = byteSize
  for (const dimension of dimensions) {
    if (dimension === 0) continue
    product *= dimension
    if (product > 0xffff_ffff) throw invalid('M9', `${path}.dimensions`, 'must make fewer than 2^32 bytes', dimensions)
  }
  return dimensions.includes(0) ? 0 : product
}

/** Combines two sets of dimensions, 0 and an unknown rank giving way; undefined if they contradict each other. */
export function combineDimensions(a: readonly number[], b: readonly number[]): readonly number[] | undefined {
  if (a.length === 0) return b
  if (b.length === 0) return a
  if (a.length !== b.length) return undefined
  const combined = a.map((size, axis) => (size === 0 ? b[axis]! : b[axis] === 0 || b[axis] === size ? size : -1))
  return combined.includes(-1) ? undefined : combined
}
