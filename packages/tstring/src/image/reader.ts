import type { Block } from '@tenon/core/internal'
import type { Image } from './image.ts'

/**
 * Finds the bytes of elements. Every word is read once, checked, and then used, so that a tensor in memory that others
 * change can't lead outside of it.
 */
export abstract class Reader {
  readonly image: Image
  /** Where {@link locate} found the bytes: `block.bytes[start]` and on. Empty strings have any place. */
  block: Block
  start: number
  size: number

  constructor(image: Image) {
    this.image = image
    this.block = image.data.block
    this.start = 0
    this.size = 0
  }

  /** Sets `block`, `start` and `size` for the element. The index and the memory's life are the caller's to check. */
  abstract locate(index: number): void

  /** The bytes that were located, not copied. */
  view(): Uint8Array {
    const { bytes } = this.block
    return new Uint8Array(bytes.buffer, bytes.byteOffset + this.start, this.size)
  }
}
