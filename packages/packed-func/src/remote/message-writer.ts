import { ArgumentRangeError } from '@tenon/core'

/** The numbers of the extension types, as the header of `csrc/host/kernels/value.h` defines them. */
export const EXTENSION = { tensor: 1, shape: 2, dtype: 3, device: 4, function: 5, part: 6, copy: 7 } as const

/** The largest message in bytes. An array can claim any length. */
const LARGEST = 2 ** 30

/** A float and its bits. */
const float = new Float64Array(1)
const floatBits = new BigUint64Array(float.buffer)

/** Writes MessagePack into memory that grows. Numbers are written as the caller says: a float stays one, whatever its value. */
export class MessageWriter {
  #bytes = new Uint8Array(256)
  #view = new DataView(this.#bytes.buffer)
  #length = 0

  /** Returns a copy of what was written. */
  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length)
  }

  #reserve(byteSize: number): number {
    const at = this.#length
    const length = at + byteSize
    if (length > LARGEST) {
      throw new ArgumentRangeError(`values for another process must have at most ${LARGEST} bytes, got more`, {
        hint: 'Pass large data as tensors.',
        details: { expected: LARGEST },
      })
    }
    if (length > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(length, 2 * this.#bytes.length))
      grown.set(this.#bytes.subarray(0, at))
      this.#bytes = grown
      this.#view = new DataView(grown.buffer)
    }
    this.#length = length
    return at
  }

  // Growing replaces the memory, so places are reserved before it is read.

  #byte(value: number): void {
    const at = this.#reserve(1)
    this.#bytes[at] = value
  }

  #unsigned(byteSize: 2 | 4, value: number): void {
    const at = this.#reserve(byteSize)
    if (byteSize === 2) this.#view.setUint16(at, value)
    else this.#view.setUint32(at, value)
  }

  /** Writes the head of a value with a length: the code for 8, 16 and 32 bits. @param short the code for 8 bits; -1 for none */
  #head(short: number, long: number, length: number): void {
    if (short !== -1 && length < 0x100) {
      this.#byte(short)
      this.#byte(length)
    } else if (length < 0x1_0000) {
      this.#byte(long)
      this.#unsigned(2, length)
    } else {
      this.#byte(long + 1)
      this.#unsigned(4, length)
    }
  }

  #append(bytes: Uint8Array): void {
    const at = this.#reserve(bytes.length)
    this.#bytes.set(bytes, at)
  }

  nil(): void {
    this.#byte(0xc0)
  }

  boolean(value: boolean): void {
    this.#byte(value ? 0xc3 : 0xc2)
  }

  /** Writes an integer from -2^63 to 2^64 - 1. */
  integer(value: number | bigint): void {
    if (typeof value === 'number' && value >= -32 && value < 128) {
      this.#byte(value & 0xff)
      return
    }
    const isUnsigned = value >= 2n ** 63n
    this.#byte(isUnsigned ? 0xcf : 0xd3)
    const at = this.#reserve(8)
    // The bits of an unsigned integer are those that are kept.
    this.#view.setBigInt64(at, BigInt(value))
  }

  float(value: number): void {
    this.#byte(0xcb)
    const at = this.#reserve(8)
    float[0] = value
    this.#view.setBigUint64(at, floatBits[0]!)
  }

  text(value: string): void {
    const bytes = Buffer.from(value)
    if (bytes.length < 32) this.#byte(0xa0 | bytes.length)
    else this.#head(0xd9, 0xda, bytes.length)
    this.#append(bytes)
  }

  bytes(value: Uint8Array): void {
    this.#head(0xc4, 0xc5, value.length)
    this.#append(value)
  }

  /** Begins an array of this many values, which the caller writes next. */
  array(length: number): void {
    if (length < 16) this.#byte(0x90 | length)
    else this.#head(-1, 0xdc, length)
  }

  /** Begins a map of this many entries. The caller writes the key and the value of each next. */
  map(size: number): void {
    if (size < 16) this.#byte(0x80 | size)
    else this.#head(-1, 0xde, size)
  }

  /** Writes a value of an extension type: the bytes of `parts`, one after the other. */
  extension(type: number, ...parts: readonly Uint8Array[]): void {
    this.#head(
      0xc7,
      0xc8,
      parts.reduce((sum, { length }) => sum + length, 0),
    )
    this.#byte(type)
    for (const part of parts) this.#append(part)
  }
}

/** Returns numbers as they lie in an extension: little-endian, in 4 bytes each. */
export function words(...values: readonly number[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(4 * values.length))
  values.forEach((value, i) => view.setInt32(4 * i, value, true))
  return new Uint8Array(view.buffer)
}

/** Returns sizes in 8 bytes each. */
export function wideWords(values: readonly (number | bigint)[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(8 * values.length))
  values.forEach((value, i) => view.setBigInt64(8 * i, BigInt(value), true))
  return new Uint8Array(view.buffer)
}
