import type { MemorySegment } from '../segment/memory-segment.ts'

/** How one kind of value is read and written. */
export interface Scalar<Value> {
  /** In bytes; also its natural alignment. */
  readonly byteSize: 1 | 2 | 4 | 8
  read(segment: MemorySegment, byteOffset: number, littleEndian: boolean): Value
  readUnaligned(segment: MemorySegment, byteOffset: number, littleEndian: boolean): Value
  write(segment: MemorySegment, byteOffset: number, value: Value, littleEndian: boolean): void
  writeUnaligned(segment: MemorySegment, byteOffset: number, value: Value, littleEndian: boolean): void
}

/** What a value of a kind is in JavaScript. */
export interface ScalarValues {
  readonly bool: boolean
  readonly int8: number
  readonly uint8: number
  readonly int16: number
  readonly uint16: number
  readonly int32: number
  readonly uint32: number
  readonly int64: bigint
  readonly uint64: bigint
  readonly float32: number
  readonly float64: number
}

export type ScalarKind = keyof ScalarValues

/** Each method names its accessor, so that every site sees one. */
export const scalars: { readonly [Kind in ScalarKind]: Scalar<ScalarValues[Kind]> } = {
  bool: {
    byteSize: 1,
    read: (segment, byteOffset) => segment.getBool(byteOffset),
    readUnaligned: (segment, byteOffset) => segment.getBool(byteOffset),
    write: (segment, byteOffset, value) => segment.setBool(byteOffset, value),
    writeUnaligned: (segment, byteOffset, value) => segment.setBool(byteOffset, value),
  },
  int8: {
    byteSize: 1,
    read: (segment, byteOffset) => segment.getInt8(byteOffset),
    readUnaligned: (segment, byteOffset) => segment.getInt8(byteOffset),
    write: (segment, byteOffset, value) => segment.setInt8(byteOffset, value),
    writeUnaligned: (segment, byteOffset, value) => segment.setInt8(byteOffset, value),
  },
  uint8: {
    byteSize: 1,
    read: (segment, byteOffset) => segment.getUint8(byteOffset),
    readUnaligned: (segment, byteOffset) => segment.getUint8(byteOffset),
    write: (segment, byteOffset, value) => segment.setUint8(byteOffset, value),
    writeUnaligned: (segment, byteOffset, value) => segment.setUint8(byteOffset, value),
  },
  int16: {
    byteSize: 2,
    read: (segment, byteOffset, littleEndian) => segment.getInt16(byteOffset, littleEndian),
    readUnaligned: (segment, byteOffset, littleEndian) => segment.getInt16Unaligned(byteOffset, littleEndian),
    write: (segment, byteOffset, value, littleEndian) => segment.setInt16(byteOffset, value, littleEndian),
    writeUnaligned: (segment, byteOffset, value, littleEndian) =>
      segment.setInt16Unaligned(byteOffset, value, littleEndian),
  },
  uint16: {
    byteSize: 2,
    read: (segment, byteOffset, littleEndian) => segment.getUint16(byteOffset, littleEndian),
    readUnaligned: (segment, byteOffset, littleEndian) => segment.getUint16Unaligned(byteOffset, littleEndian),
    write: (segment, byteOffset, value, littleEndian) => segment.setUint16(byteOffset, value, littleEndian),
    writeUnaligned: (segment, byteOffset, value, littleEndian) =>
      segment.setUint16Unaligned(byteOffset, value, littleEndian),
  },
  int32: {
    byteSize: 4,
    read: (segment, byteOffset, littleEndian) => segment.getInt32(byteOffset, littleEndian),
    readUnaligned: (segment, byteOffset, littleEndian) => segment.getInt32Unaligned(byteOffset, littleEndian),
    write: (segment, byteOffset, value, littleEndian) => segment.setInt32(byteOffset, value, littleEndian),
    writeUnaligned: (segment, byteOffset, value, littleEndian) =>
      segment.setInt32Unaligned(byteOffset, value, littleEndian),
  },
  uint32: {
    byteSize: 4,
    read: (segment, byteOffset, littleEndian) => segment.getUint32(byteOffset, littleEndian),
    readUnaligned: (segment, byteOffset, littleEndian) => segment.getUint32Unaligned(byteOffset, littleEndian),
    write: (segment, byteOffset, value, littleEndian) => segment.setUint32(byteOffset, value, littleEndian),
    writeUnaligned: (segment, byteOffset, value, littleEndian) =>
      segment.setUint32Unaligned(byteOffset, value, littleEndian),
  },
  int64: {
    byteSize: 8,
    read: (segment, byteOffset, littleEndian) => segment.getInt64(byteOffset, littleEndian),
    readUnaligned: (segment, byteOffset, littleEndian) => segment.getInt64Unaligned(byteOffset, littleEndian),
    write: (segment, byteOffset, value, littleEndian) => segment.setInt64(byteOffset, value, littleEndian),
    writeUnaligned: (segment, byteOffset, value, littleEndian) =>
      segment.setInt64Unaligned(byteOffset, value, littleEndian),
  },
  uint64: {
    byteSize: 8,
    read: (segment, byteOffset, littleEndian) => segment.getUint64(byteOffset, littleEndian),
    readUnaligned: (segment, byteOffset, littleEndian) => segment.getUint64Unaligned(byteOffset, littleEndian),
    write: (segment, byteOffset, value, littleEndian) => segment.setUint64(byteOffset, value, littleEndian),
    writeUnaligned: (segment, byteOffset, value, littleEndian) =>
      segment.setUint64Unaligned(byteOffset, value, littleEndian),
  },
  float32: {
    byteSize: 4,
    read: (segment, byteOffset, littleEndian) => segment.getFloat32(byteOffset, littleEndian),
    readUnaligned: (segment, byteOffset, littleEndian) => segment.getFloat32Unaligned(byteOffset, littleEndian),
    write: (segment, byteOffset, value, littleEndian) => segment.setFloat32(byteOffset, value, littleEndian),
    writeUnaligned: (segment, byteOffset, value, littleEndian) =>
      segment.setFloat32Unaligned(byteOffset, value, littleEndian),
  },
  float64: {
    byteSize: 8,
    read: (segment, byteOffset, littleEndian) => segment.getFloat64(byteOffset, littleEndian),
    readUnaligned: (segment, byteOffset, littleEndian) => segment.getFloat64Unaligned(byteOffset, littleEndian),
    write: (segment, byteOffset, value, littleEndian) => segment.setFloat64(byteOffset, value, littleEndian),
    writeUnaligned: (segment, byteOffset, value, littleEndian) =>
      segment.setFloat64Unaligned(byteOffset, value, littleEndian),
  },
}
