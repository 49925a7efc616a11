import { hostAbi, hostLittleEndian } from './abi.ts'
import { TYPE, type StructLayout } from './layout.ts'
import { packWord, wordSizeMaximum } from './size-word.ts'

// Structs of this machine's ABI that hold pointers, written in place.

const narrow = hostLittleEndian ? 'le32' : 'be32'

/** The largest string of a PREALLOC on this machine, in bytes. */
export const PREALLOC_MAXIMUM: number = Number(wordSizeMaximum(narrow))

function writeWord(view: DataView, at: number, value: number): void {
  view.setUint32(at + (hostLittleEndian ? 0 : 4), value, hostLittleEndian)
  view.setUint32(at + (hostLittleEndian ? 4 : 0), value / 2 ** 32, hostLittleEndian)
}

/** Writes a string's size into a PREALLOC. */
export function writePreallocSize(view: DataView, at: number, size: number): void {
  view.setUint32(at, Number(packWord(narrow, BigInt(size), TYPE.PREALLOC)), hostLittleEndian)
}

/** Writes a PREALLOC. */
export function writePrealloc(view: DataView, at: number, address: number, size: number, capacity: number): void {
  writePreallocSize(view, at, size)
  view.setUint32(at + 4, capacity, hostLittleEndian)
  writeWord(view, at + 8, address)
}

/**
 * Writes a VIEW, or for the RFC a full PREALLOC. The other bytes of the struct must be zero already: newer versions of
 * TensorFlow call the owner in the last word of a VIEW.
 */
export function writePointer(view: DataView, at: number, layout: StructLayout, address: number, size: number): void {
  if (layout !== 'tf') {
    writePrealloc(view, at, address, size, size)
    return
  }
  if (hostLittleEndian) writeWord(view, at, size * 4 + TYPE.VIEW)
  else writeWord(view, at, Number(packWord(hostAbi, BigInt(size), TYPE.VIEW)))
  writeWord(view, at + 8, address)
}
