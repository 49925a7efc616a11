import type { Abi } from './abi.ts'
import { abiInfo } from './abi.ts'

/**
 * The largest size that a size word holds without touching the two type bits. With big endian only the word's top byte
 * is shifted, so that two of its bits are lost.
 */
export function wordSizeMaximum(abi: Abi): bigint {
  const { littleEndian, wordSize } = abiInfo(abi)
  return (1n << BigInt(8 * wordSize - (littleEndian ? 2 : 10))) - 1n
}

/** The word of a size and a type: `size << 2 | type`; with big endian that is done to the top byte alone. */
export function packWord(abi: Abi, size: bigint, type: number): bigint {
  const { littleEndian, wordSize } = abiInfo(abi)
  return littleEndian ? (size << 2n) | BigInt(type) : size | (BigInt(type) << BigInt(8 * wordSize - 8))
}

/** The size in a size word. */
export function sizeOfWord(abi: Abi, word: bigint): bigint {
  const { littleEndian, wordSize } = abiInfo(abi)
  if (littleEndian) return word >> 2n
  const top = BigInt(8 * wordSize - 8)
  return BigInt.asUintN(Number(top), word) | ((word >> (top + 2n)) << top)
}
