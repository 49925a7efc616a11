import { ArgumentRangeError, BoundsError } from '@tenon/core'
import { checkSize } from '@tenon/core/internal'
import { argumentError } from '../errors/arguments.ts'

/** The most bytes of a varint of 64 bits. */
const VARINT_MAXIMUM = 10

export function varintSize(value: number): number {
  let size = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++
  return size
}

/**
 * Encodes a number like the lengths of the legacy layout: LEB128, with seven bits in each byte, low bits first.
 *
 * @param value a whole number up to 2^64 - 1. Numbers above 2^53 - 1 must be bigints.
 * @throws {ArgumentError | ArgumentRangeError} for other values.
 * @example
 * encodeVarint(300) // Uint8Array.of(0xac, 0x02)
 */
export function encodeVarint(value: number | bigint): Uint8Array {
  const whole = typeof value === 'bigint' ? value : BigInt(checkSize(value, 'value', 'bytes'))
  if (whole < 0n || whole >= 1n << 64n) {
    throw new ArgumentRangeError(`value must be from 0 to 2^64 - 1, got ${whole}`, {
      details: { name: 'value', expected: 'from 0 to 2^64 - 1', received: `${whole}n` },
    })
  }
  const bytes: number[] = []
  let rest = whole
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
  return Uint8Array.of(...bytes, Number(rest))
}

/** A decoded varint. */
export interface Varint {
  /** The value, exact up to 2^64 - 1. */
  readonly value: bigint
  /** The number of bytes that encode the value. */
  readonly byteSize: number
}

/**
 * Decodes a varint like TensorFlow: over-long encodings are accepted, and bits above the 64th are dropped.
 *
 * @param byteOffset the offset of the first byte in `bytes`.
 * @throws {BoundsError} if the varint does not end within the bytes or within ten bytes.
 * @example
 * decodeVarint(Uint8Array.of(0xac, 0x02)).value // 300n
 */
export function decodeVarint(bytes: Uint8Array, byteOffset = 0): Varint {
  if (!(bytes instanceof Uint8Array)) throw argumentError('bytes', 'a Uint8Array', bytes)
  const start = checkSize(byteOffset, 'byteOffset')
  let value = 0n
  for (let i = 0; i < VARINT_MAXIMUM && start + i < bytes.length; i++) {
    const byte = bytes[start + i]!
    value |= BigInt(byte & 0x7f) << BigInt(7 * i)
    if (byte < 0x80) return { value: BigInt.asUintN(64, value), byteSize: i + 1 }
  }
  throw new BoundsError(`a varint must end within ${VARINT_MAXIMUM} bytes and within the data, got one at ${start}`, {
    details: { byteOffset: start, available: bytes.length - start },
  })
}

/** Returns a varint as a number, inexact above 2^53, or NaN if the varint does not end. Sets {@link lastVarint}. */
export function readVarint(bytes: Uint8Array, at: number, end: number): number {
  let value = 0
  let scale = 1
  for (let i = 0; i < VARINT_MAXIMUM && at < end; i++, scale *= 0x80) {
    const byte = bytes[at++]!
    // Only the lowest bit of the tenth byte is below 2^64.
    value += (i === VARINT_MAXIMUM - 1 ? byte & 1 : byte & 0x7f) * scale
    if (byte < 0x80) {
      lastVarint.end = at
      return value
    }
  }
  return NaN
}

/** The end of the varint that {@link readVarint} read last. A result object for each string would cost more. */
export const lastVarint: { end: number } = { end: 0 }
