/** Copies bits to bytes of 0 and 1. @param first the bit of the first element */
export function unpackBits(bits: Uint8Array, first: number, to: Uint8Array): void {
  for (let i = 0, bit = first; i < to.length; i++, bit++) to[i] = (bits[bit >>> 3]! >>> (bit & 7)) & 1
}

/** Copies bytes, of which all but 0 count as 1, to bits from the first one on. */
export function packBits(from: Uint8Array, to: Uint8Array): void {
  to.fill(0)
  for (let i = 0; i < from.length; i++) if (from[i] !== 0) to[i >>> 3]! |= 1 << (i & 7)
}

const ones = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length)

/** The number of bits that are 0 among `count` bits from `first` on. */
export function countZeros(bits: Uint8Array, first: number, count: number): number {
  let zeros = count
  let bit = first
  const end = first + count
  for (; bit < end && (bit & 7) !== 0; bit++) zeros -= (bits[bit >>> 3]! >>> (bit & 7)) & 1
  for (; bit + 8 <= end; bit += 8) zeros -= ones[bits[bit >>> 3]!]!
  for (; bit < end; bit++) zeros -= (bits[bit >>> 3]! >>> (bit & 7)) & 1
  return zeros
}
