/** Bitmaps of Apache Arrow, in which the lowest bit of a byte is the first one. Positions can be 2^32 and more. */

/** Whether a bit is 1. */
export const isSet = (bits: Uint8Array, at: number): boolean => ((bits[Math.floor(at / 8)]! >> (at & 7)) & 1) === 1

/** Copies bits to bytes of 0 and 1. @param first the bit of the first byte */
export function unpackBits(bits: Uint8Array, first: number, to: Uint8Array): void {
  let byte = Math.floor(first / 8)
  let bit = first & 7
  for (let i = 0; i < to.length; i++) {
    to[i] = (bits[byte]! >> bit) & 1
    if (++bit === 8) {
      bit = 0
      byte++
    }
  }
}

/** Returns a bitmap whose bits are 1 for the values that are neither false nor 0. */
export function packBits(values: ArrayLike<boolean | number>): Uint8Array {
  const bits = new Uint8Array(Math.ceil(values.length / 8))
  for (let i = 0; i < values.length; i++) if (values[i]) bits[Math.floor(i / 8)]! |= 1 << (i & 7)
  return bits
}

const ones = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length)

/** The number of bits that are 0 among `count` bits from `first` on. */
export function countZeros(bits: Uint8Array, first: number, count: number): number {
  let zeros = count
  let at = first
  const end = first + count
  for (; at < end && (at & 7) !== 0; at++) if (isSet(bits, at)) zeros--
  for (; at + 8 <= end; at += 8) zeros -= ones[bits[at / 8]!]!
  for (; at < end; at++) if (isSet(bits, at)) zeros--
  return zeros
}
