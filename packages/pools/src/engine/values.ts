import { decodeMiniFloat } from '@tenon/core/internal'
import type { OperandType } from '../model/operand-types.ts'

/** A value in memory that a kernel may use, aligned to its elements. */
export interface Place {
  readonly bytes: Buffer
  readonly address: number
}

type Reader = readonly [byteSize: number, read: (bytes: Buffer, at: number) => number]

const int32: Reader = [4, (bytes, at) => bytes.readInt32LE(at)]
const float32: Reader = [4, (bytes, at) => bytes.readFloatLE(at)]
const bool: Reader = [1, (bytes, at) => bytes.readUInt8(at)]

const readers: Partial<Record<OperandType, Reader>> = {
  INT32: int32,
  TENSOR_INT32: int32,
  UINT32: [4, (bytes, at) => bytes.readUInt32LE(at)],
  FLOAT32: float32,
  TENSOR_FLOAT32: float32,
  FLOAT16: [2, (bytes, at) => decodeMiniFloat('float16', bytes.readUInt16LE(at))],
  BOOL: bool,
  TENSOR_BOOL8: bool,
}

/** Returns the numbers of a value, each read once; undefined for types that are not read as numbers. */
export function numbersOf(type: OperandType, bytes: Buffer): number[] | undefined {
  const reader = readers[type]
  if (reader === undefined) return undefined
  const [byteSize, read] = reader
  return Array.from({ length: bytes.length / byteSize }, (_, i) => read(bytes, i * byteSize))
}
