import { gcAllocator, type NativeAllocator, type Segment } from '@tenon/core'

/** Enough memory for the strings of every benchmark in every layout, in bytes. */
export const MEMORY: number = 160 * 2 ** 20

/**
 * An allocator that lends the same memory again and again, as a pool does. Therefore benchmarks measure the work, not the
 * time in which the system finds fresh pages.
 */
export class ReusedMemory implements NativeAllocator {
  readonly #whole: Segment
  #at = 0

  constructor(byteSize: number) {
    this.#whole = gcAllocator.allocate(byteSize, 4096)
    const view = this.#whole.view()
    new Uint8Array(view.buffer, view.byteOffset, view.byteLength).fill(1)
  }

  /** Makes all memory free again. */
  reset(): this {
    this.#at = 0
    return this
  }

  allocate(byteSize: number, byteAlignment = 16): Segment {
    const start = Math.ceil(this.#at / byteAlignment) * byteAlignment
    this.#at = start + byteSize
    return this.#whole.asSlice(start, byteSize)
  }
}
