import { ArgumentRangeError } from '@tenon/core'
import { wrongType } from '@tenon/core/internal'
import { MemoryLayout } from '../layout/layouts.ts'
import type { ValueLayout } from '../layout/value-layout.ts'
import { MemorySegment } from '../segment/memory-segment.ts'

/** The types of bit-fields. */
export type BitsKind = 'bool' | 'int8' | 'uint8' | 'int16' | 'uint16' | 'int32' | 'uint32' | 'int64' | 'uint64'

/** The types of members that are numbers. */
export type ScalarKind = BitsKind | 'float32' | 'float64'

/** The widest bit-field that is a number. Wider ones are bigints. */
const NUMBER_BITS = 53

/** Reads a bit-field whose first bit is the lowest, as on little-endian machines. */
export function readBits(
  segment: MemorySegment,
  bitOffset: number,
  bitWidth: number,
  kind: BitsKind,
): number | bigint | boolean {
  const { first, count } = bytesOf(bitOffset, bitWidth)
  let word = 0n
  for (let i = 0; i < count; i++) word |= BigInt(segment.getUint8(first + i)) << BigInt(8 * i)
  const bits = BigInt.asUintN(bitWidth, word >> BigInt(bitOffset % 8))
  if (kind === 'bool') return bits !== 0n
  const value = kind.startsWith('int') ? BigInt.asIntN(bitWidth, bits) : bits
  return bitWidth > NUMBER_BITS ? value : Number(value)
}

/** Writes a bit-field, and no other bit. @throws {ArgumentRangeError} if the value does not fit */
export function writeBits(
  segment: MemorySegment,
  bitOffset: number,
  bitWidth: number,
  kind: BitsKind,
  value: number | bigint | boolean,
): void {
  const bits = bitsOf(value, bitWidth, kind)
  const { first, count } = bytesOf(bitOffset, bitWidth)
  const shift = BigInt(bitOffset % 8)
  const mask = BigInt.asUintN(bitWidth, -1n) << shift
  for (let i = 0; i < count; i++) {
    const at = BigInt(8 * i)
    const kept = BigInt(segment.getUint8(first + i)) & ~(mask >> at)
    segment.setUint8(first + i, Number(BigInt.asUintN(8, kept | ((bits << shift) >> at))))
  }
}

function bitsOf(value: number | bigint | boolean, bitWidth: number, kind: BitsKind): bigint {
  if (kind === 'bool') {
    if (typeof value !== 'boolean') throw wrongType('the value of a bit-field', 'true or false', value)
    return value ? 1n : 0n
  }
  if (typeof value !== 'bigint' && !Number.isInteger(value))
    throw wrongType('the value of a bit-field', 'a whole number', value)
  const whole = BigInt(value)
  const fits = kind.startsWith('int')
    ? BigInt.asIntN(bitWidth, whole) === whole
    : BigInt.asUintN(bitWidth, whole) === whole
  if (!fits) throw new ArgumentRangeError(`the value of a bit-field must fit ${bitWidth} bits of ${kind}, got ${value}`)
  return BigInt.asUintN(bitWidth, whole)
}

const bytesOf = (bitOffset: number, bitWidth: number): { first: number; count: number } => {
  const first = bitOffset >> 3
  return { first, count: ((bitOffset + bitWidth - 1) >> 3) - first + 1 }
}

const unaligned = new Map<ScalarKind | 'pointer', ValueLayout>()

/** The layout of a member of a packed struct. */
function unalignedLayout(kind: ScalarKind): ValueLayout {
  let layout = unaligned.get(kind)
  if (!layout) {
    layout = (MemoryLayout[kind] as ValueLayout).withByteAlignment(1)
    unaligned.set(kind, layout)
  }
  return layout
}

/** Reads a member at any offset, as in packed structs. @throws the errors of an access */
export function readUnaligned(segment: MemorySegment, byteOffset: number, kind: ScalarKind): number | bigint | boolean {
  return unalignedLayout(kind).read(segment, byteOffset) as number | bigint | boolean
}

/** Writes a member at any offset. @throws the errors of an access */
export function writeUnaligned(
  segment: MemorySegment,
  byteOffset: number,
  kind: ScalarKind,
  value: number | bigint | boolean,
): void {
  unalignedLayout(kind).write(segment, byteOffset, value as never)
}

const address = MemoryLayout.address.withByteAlignment(1)

/** Reads a pointer as a segment of size 0. @throws the errors of an access */
export function readPointer(segment: MemorySegment, byteOffset: number): MemorySegment {
  return address.read(segment, byteOffset)
}

/** Writes a pointer. The writer keeps its memory alive for as long as native code uses it. @throws the errors of an access */
export function writePointer(segment: MemorySegment, byteOffset: number, value: MemorySegment | null): void {
  address.write(segment, byteOffset, value ?? MemorySegment.NULL)
}

/** Reads a `char` array up to its terminator, or all of it. */
export function readText(segment: MemorySegment, byteOffset: number, byteSize: number): string {
  const bytes = segment.asSlice(byteOffset, byteSize)
  let length = 0
  while (length < byteSize && bytes.getUint8(length) !== 0) length++
  return bytes.getString(0, 'utf-8', length)
}

/** Writes a text with its terminator to a `char` array. @throws {BoundsError} if it does not fit */
export function writeText(segment: MemorySegment, byteOffset: number, byteSize: number, text: string): void {
  segment.asSlice(byteOffset, byteSize).setString(0, text)
}
