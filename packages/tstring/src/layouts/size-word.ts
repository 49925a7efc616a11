import { abiInfo, type Abi } from './abi.ts'

/**
 * Returns the largest size that fits into a size word beside the two type bits. On big-endian machines only the word's top
 * byte is shifted, so the size loses two bits of that byte.
 */
export function wordSizeMaximum(abi: Abi): bigint {
  const { littleEndian, wordSize } = abiInfo(abi)
  return (1n << BigInt(8 * wordSize - (littleEndian ? 2 : 10))) - 1n
}

/** Returns the word of a size and a type: `size << 2 | type`. On big-endian machines only the top byte is shifted. */
export function packWord(abi: Abi, size: bigint, type: number): bigint {
  const { littleEndian, wordSize } = abiInfo(abi)
  return littleEndian ? (size << 2n) | BigInt(type) : size | (BigInt(type) << BigInt(8 * wordSize - 8))
}

/** Returns the size in a size word. */
export function sizeOfWord(abi: Abi, word: bigint): bigint {
  const { littleEndian, wordSize } = abiInfo(abi)
  if (littleEndian) return word >> 2n
  const top = BigInt(8 * wordSize - 8)
  return BigInt.asUintN(Number(top), word) | ((word >> (top + 2n)) << top)
}
