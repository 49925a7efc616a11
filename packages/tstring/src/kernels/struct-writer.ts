import { abiInfo, hostAbi, hostLittleEndian } from '../layouts/abi.ts'
import { TYPE, type StructLayout } from '../layouts/layout.ts'
import { packWord, wordSizeMaximum } from '../layouts/size-word.ts'

/** The largest string of a size word of this machine, as a number. */
export const wordLimit: number = Number(wordSizeMaximum(hostAbi))

/** The largest string of a PREALLOC on this machine. */
export const narrowLimit: number = Number(wordSizeMaximum(hostLittleEndian ? 'le32' : 'be32'))

const { wordSize } = abiInfo(hostAbi)

/** Writes a word of this machine. */
export function writeWord(view: DataView, at: number, value: number): void {
  if (wordSize === 4) view.setUint32(at, value, hostLittleEndian)
  else {
    view.setUint32(at + (hostLittleEndian ? 0 : 4), value, hostLittleEndian)
    view.setUint32(at + (hostLittleEndian ? 4 : 0), value / 2 ** 32, hostLittleEndian)
  }
}

/**
 * Writes a VIEW, or an RFC's PREALLOC that is full, of this machine. The struct's other bytes are zero already: the last
 * word of a VIEW is an owner that newer TensorFlow calls.
 */
export function writePointer(view: DataView, at: number, layout: StructLayout, address: number, size: number): void {
  if (layout === 'tf') {
    if (hostLittleEndian) writeWord(view, at, size * 4 + TYPE.VIEW)
    else writeWord(view, at, Number(packWord(hostAbi, BigInt(size), TYPE.VIEW)))
    writeWord(view, at + wordSize, address)
  } else {
    const narrow = hostLittleEndian ? 'le32' : 'be32'
    view.setUint32(at, Number(packWord(narrow, BigInt(size), TYPE.PREALLOC)), hostLittleEndian)
    view.setUint32(at + 4, size, hostLittleEndian)
    writeWord(view, at + 8, address)
  }
}
