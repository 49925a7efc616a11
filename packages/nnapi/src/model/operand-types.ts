import { didYouMean, wrongType } from '@tenon/core/internal'
import { invalid } from '@tenon/pools/internal'

/** The properties of an operand type. */
export interface OperandTypeInfo {
  /** NNAPI's number. */
  readonly number: number
  /** The bytes of an element. */
  readonly byteSize: number
  readonly isTensor: boolean
  /** The range of the zero point of a quantized type; undefined for the other types. */
  readonly zeroPoint?: readonly [least: number, most: number]
}

/** NNAPI's operand types (HAL `OperandType`): number, bytes of an element, and the range of the zero point. */
const types = {
  FLOAT32: [0, 4],
  INT32: [1, 4],
  UINT32: [2, 4],
  TENSOR_FLOAT32: [3, 4],
  TENSOR_INT32: [4, 4],
  TENSOR_QUANT8_ASYMM: [5, 1, 0, 255],
  BOOL: [6, 1],
  TENSOR_QUANT16_SYMM: [7, 2, 0, 0],
  TENSOR_FLOAT16: [8, 2],
  TENSOR_BOOL8: [9, 1],
  FLOAT16: [10, 2],
  TENSOR_QUANT8_SYMM_PER_CHANNEL: [11, 1],
  TENSOR_QUANT16_ASYMM: [12, 2, 0, 65_535],
  TENSOR_QUANT8_SYMM: [13, 1, 0, 0],
  TENSOR_QUANT8_ASYMM_SIGNED: [14, 1, -128, 127],
  SUBGRAPH: [15, 0],
  OEM: [10_000, 0],
  TENSOR_OEM_BYTE: [10_001, 1],
} as const

/** The name of one of NNAPI's operand types. */
export type OperandType = keyof typeof types

/** The table of operand types. */
export const operandTypes: Readonly<Record<OperandType, OperandTypeInfo>> = Object.fromEntries(
  Object.entries<readonly [number, number, number?, number?]>(types).map(([name, [number, byteSize, least, most]]) => {
    const range = least === undefined ? {} : { zeroPoint: [least, most] }
    return [name, { number, byteSize, isTensor: name.startsWith('TENSOR_'), ...range }]
  }),
) as unknown as Record<OperandType, OperandTypeInfo>

/** Whether only the vendor of a type knows the size of its values. */
export const isOpaque = (type: OperandType): boolean => type === 'OEM' || type === 'TENSOR_OEM_BYTE'

/** Whether dimensions leave nothing open. A tensor without dimensions has an unknown rank. */
export function isFullySpecified(type: OperandType, dimensions: readonly number[]): boolean {
  return !operandTypes[type].isTensor || (dimensions.length > 0 && !dimensions.includes(0))
}

/** @throws {ArgumentError} if there is no such type; the hint names similar ones. */
export function checkOperandType(type: OperandType): OperandType {
  if (Object.hasOwn(operandTypes, type)) return type
  const hint = typeof type === 'string' ? didYouMean(type, Object.keys(operandTypes)) : undefined
  throw wrongType('type', 'the name of an operand type', type, hint)
}

/** The size of a value in bytes; 0 if dimensions are not known. @throws {PoolsError} M9 for more than 32 bits */
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

/** Combines two sets of dimensions, where 0 and an unknown rank are open. Undefined if they contradict each other. */
export function combineDimensions(a: readonly number[], b: readonly number[]): readonly number[] | undefined {
  if (a.length === 0) return b
  if (b.length === 0) return a
  if (a.length !== b.length) return undefined
  const combined = a.map((size, axis) => (size === 0 ? b[axis]! : b[axis] === 0 || b[axis] === size ? size : -1))
  return combined.includes(-1) ? undefined : combined
}
