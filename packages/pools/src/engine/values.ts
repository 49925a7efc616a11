import { decodeMiniFloat } from '@tenon/core/internal'
import type { OperandType } from '../model/operand-types.ts'

/** A value in memory that a kernel may use: aligned to its elements. */
export interface Place {
  readonly bytes: Buffer
  readonly address: number
}

type Reader = (bytes: Buffer, at: number) => number

const readers: Partial<Record<OperandType, readonly [byteSize: number, read: Reader]>> = {
  INT32: [4, (bytes, at) => bytes.readInt32LE(at)],
  TENSOR_INT32: [4, (bytes, at) => bytes.readInt32LE(at)],
  UINT32: [4, (bytes, at) => bytes.readUInt32LE(at)],
  FLOAT32: [4, (bytes, at) => bytes.readFloatLE(at)],
  TENSOR_FLOAT32: [4, (bytes, at) => bytes.readFloatLE(at)],
  FLOAT16: [2, (bytes, at) => decodeMiniFloat('float16', bytes.readUInt16LE(at))],
  BOOL: [1, (bytes, at) => bytes.readUInt8(at)],
  TENSOR_BOOL8: [1, (bytes, at) => bytes.readUInt8(at)],
}

/** The numbers of a value, each read once; undefined for types that aren't read as numbers. */
export function numbersOf(type: OperandType, bytes: Buffer): number[] | undefined {
  const reader = readers[type]
  if (reader === undefined) return undefined
  const [byteSize, read] = reader
  return Array.from({ length: bytes.length / byteSize }, (_, i) => read(bytes, i * byteSize))
}
