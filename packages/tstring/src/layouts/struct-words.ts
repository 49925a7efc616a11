import { abiInfo, hostAbi, hostLittleEndian, type Abi } from './abi.ts'
import { TYPE, type StructLayout } from './layout.ts'

/** Returns the largest size in a size word. */
export function wordSizeMaximum(abi: Abi): bigint {
  return (1n << BigInt(8 * abiInfo(abi).wordSize - 2)) - 1n
}

/**
 * Returns the word of a size and a type: `size << 2 | type`. On big-endian machines only the top byte is shifted, so two bits of
 * the size are there twice. In the top byte they share their places with the type.
 */
export function packWord(abi: Abi, size: bigint, type: number): bigint {
  const { littleEndian, wordSize } = abiInfo(abi)
  if (littleEndian) return (size << 2n) | BigInt(type)
  const top = BigInt(8 * wordSize - 8)
  return BigInt.asUintN(Number(top), size) | ((((size << 2n) >> top) | BigInt(type)) << top)
}

/** Returns the type in a size word: the low two bits of its first byte in memory. */
export function typeOfWord(abi: Abi, word: bigint): number {
  const { littleEndian, wordSize } = abiInfo(abi)
  return Number((littleEndian ? word : word >> BigInt(8 * wordSize - 8)) & 3n)
}

export function sizeOfWord(abi: Abi, word: bigint): bigint {
  const { littleEndian, wordSize } = abiInfo(abi)
  if (littleEndian) return word >> 2n
  const top = BigInt(8 * wordSize - 8)
  return BigInt.asUintN(Number(top), word) | ((word >> (top + 2n)) << top)
}

// Structs of this machine that hold pointers, written in place.

const narrow = hostLittleEndian ? 'le32' : 'be32'

/** The largest string of a PREALLOC on this machine, in bytes. */
export const PREALLOC_MAXIMUM: number = Number(wordSizeMaximum(narrow))

function writeWord(view: DataView, at: number, value: number): void {
  view.setUint32(at + (hostLittleEndian ? 0 : 4), value, hostLittleEndian)
  view.setUint32(at + (hostLittleEndian ? 4 : 0), value / 2 ** 32, hostLittleEndian)
}

export function writePreallocSize(view: DataView, at: number, size: number): void {
  // Big integers take ten times as long as everything else here.
  const word = hostLittleEndian ? size * 4 + TYPE.PREALLOC : Number(packWord(narrow, BigInt(size), TYPE.PREALLOC))
  view.setUint32(at, word, hostLittleEndian)
}

export function writePrealloc(view: DataView, at: number, address: number, size: number, capacity: number): void {
  writePreallocSize(view, at, size)
  view.setUint32(at + 4, capacity, hostLittleEndian)
  writeWord(view, at + 8, address)
}

/** Writes a VIEW or PREALLOC, and zeros behind it, because TensorFlow calls the owner in the last word of a VIEW. */
export function writePointer(view: DataView, at: number, layout: StructLayout, address: number, size: number): void {
  if (layout !== 'rfc16') {
    view.setInt32(at + 16, 0)
    view.setInt32(at + 20, 0)
  }
  if (layout !== 'tf') {
    writePrealloc(view, at, address, size, size)
    return
  }
  if (hostLittleEndian) writeWord(view, at, size * 4 + TYPE.VIEW)
  else writeWord(view, at, Number(packWord(hostAbi, BigInt(size), TYPE.VIEW)))
  writeWord(view, at + 8, address)
}
