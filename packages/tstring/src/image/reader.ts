import type { Image } from './image.ts'

/**
 * Finds the bytes of elements. Every word is read once, checked, and then used, so that a tensor in memory that others
 * change can't lead outside of it.
 */
export abstract class Reader {
  readonly image: Image
  /** Where {@link locate} found the bytes: `bytes[start]` and on. Empty strings have any place. */
  bytes: Buffer
  start: number
  size: number

  constructor(image: Image) {
    this.image = image
    this.bytes = image.data.block.bytes
    this.start = 0
    this.size = 0
  }

  /** Sets `bytes`, `start` and `size` for the element. The index and the memory's life are the caller's to check. */
  abstract locate(index: number): void

  /** The bytes of the element, not copied. */
  view(index: number): Uint8Array {
    this.locate(index)
    return new Uint8Array(this.bytes.buffer, this.bytes.byteOffset + this.start, this.size)
  }
}
