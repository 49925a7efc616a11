import { gcAllocator, type NativeAllocator, type Segment } from '@tenon/core'

/**
 * An allocator that gives the same memory again and again, as a pool does: so that what is measured is the work, and not
 * how the system finds fresh pages.
 */
export class ReusedMemory implements NativeAllocator {
  readonly #whole: Segment
  #at = 0

  constructor(byteSize: number) {
    this.#whole = gcAllocator.allocate(byteSize, 4096)
    const view = this.#whole.view()
    new Uint8Array(view.buffer, view.byteOffset, view.byteLength).fill(1)
  }

  /** Makes all of it free again. */
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
