import { ArgumentError, ArgumentRangeError, BoundsError } from '@tenon/core'
import { checkSize, describe } from '@tenon/core/internal'

/** The most bytes that a varint of 64 bits has. */
const VARINT_MAXIMUM = 10

/** Bytes of a size as a varint. */
export function varintSize(value: number): number {
  let size = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++
  return size
}

/** Writes a size as a varint at `at`; returns where it ends. The room is the caller's to check. */
export function writeVarint(bytes: Uint8Array, at: number, value: number): number {
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes[at++] = (rest % 0x80) | 0x80
  bytes[at++] = rest
  return at
}

/**
 * A number as the legacy layout has its lengths: LEB128, seven bits a byte, low bits first.
 *
 * @param value a whole number up to 2^64 - 1; above 2^53 - 1 a bigint.
 * @throws {ArgumentError | ArgumentRangeError} if it is none.
 * @example
 * encodeVarint(300) // Uint8Array.of(0xac, 0x02)
 */
export function encodeVarint(value: number | bigint): Uint8Array {
  if (typeof value === 'bigint' && value >= 0n && value < 1n << 64n) {
    const bytes: number[] = []
    for (let rest = value; ; rest >>= 7n) {
      if (rest < 0x80n) return Uint8Array.from([...bytes, Number(rest)])
      bytes.push(Number(rest & 0x7fn) | 0x80)
    }
  }
  if (typeof value === 'bigint') throw new ArgumentRangeError(`value must be from 0 to 2^64 - 1, got ${value}`)
  const size = checkSize(value, 'value', 'bytes')
  const bytes = new Uint8Array(varintSize(size))
  writeVarint(bytes, 0, size)
  return bytes
}

/** A decoded varint. */
export interface Varint {
  /** Exact to 2^64 - 1. */
  readonly value: bigint
  /** How many bytes it takes. */
  readonly byteSize: number
}

/**
 * Reads a varint as TensorFlow does: over-long forms are taken, bits above the 64th are dropped.
 *
 * @param byteOffset where it starts in `bytes`.
 * @throws {BoundsError} if it doesn't end within the bytes or within ten bytes.
 * @example
 * decodeVarint(Uint8Array.of(0xac, 0x02)).value // 300n
 */
export function decodeVarint(bytes: Uint8Array, byteOffset = 0): Varint {
  if (!(bytes instanceof Uint8Array)) throw new ArgumentError(`bytes must be a Uint8Array, got ${describe(bytes)}`)
  const start = checkSize(byteOffset, 'byteOffset')
  let value = 0n
  for (let i = 0; i < VARINT_MAXIMUM && start + i < bytes.length; i++) {
    const byte = bytes[start + i]!
    value |= BigInt(byte & 0x7f) << BigInt(7 * i)
    if (byte < 0x80) return { value: BigInt.asUintN(64, value), byteSize: i + 1 }
  }
  throw new BoundsError(`a varint must end within ${VARINT_MAXIMUM} bytes and within the data, it starts at ${start}`, {
    details: { byteOffset: start, available: bytes.length - start },
  })
}

/** The value of a varint as a number, inexact above 2^53; its byte size goes to `varintEnd`. NaN if it doesn't end. */
export function readVarint(bytes: Uint8Array, at: number, end: number): number {
  let value = 0
  let scale = 1
  for (let i = 0; i < VARINT_MAXIMUM && at < end; i++, scale *= 0x80) {
    const byte = bytes[at++]!
    // Of the tenth byte only the lowest bit is below 2^64.
    value += (i === VARINT_MAXIMUM - 1 ? byte & 1 : byte & 0x7f) * scale
    if (byte < 0x80) {
      lastVarint.end = at
      return value
    }
  }
  return NaN
}

/** Where the varint ended that {@link readVarint} read last. */
export const lastVarint: { end: number } = { end: 0 }
