import type { Block } from '@tenon/core/internal'
import type { Image } from './image.ts'

/**
 * Finds the bytes of elements. Every word is read once, checked, and then used, so a tensor in memory that others change
 * cannot lead outside of that memory.
 */
export abstract class Reader {
  readonly image: Image
  /** The bytes that {@link locate} found are `block.bytes` from `start` on. Empty strings have any `start`. */
  block: Block
  start: number
  size: number

  constructor(image: Image) {
    this.image = image
    this.block = image.data.block
    this.start = 0
    this.size = 0
  }

  /** Sets `block`, `start` and `size` for the element. The caller checks the index and that the memory is alive. */
  abstract locate(index: number): void

  view(): Uint8Array {
    const { bytes } = this.block
    return new Uint8Array(bytes.buffer, bytes.byteOffset + this.start, this.size)
  }
}

/** Reads 64 bits as a number. The result is exact below 2^53, as all addresses and sizes of real memory are. */
export function readUint64(view: DataView, at: number, littleEndian: boolean): number {
  const first = view.getUint32(at, littleEndian)
  const second = view.getUint32(at + 4, littleEndian)
  return littleEndian ? first + second * 2 ** 32 : first * 2 ** 32 + second
}
