import { gcAllocator, Segment, type NativeAllocator } from '@tenon/core'
import { Block, ManagedLifetime } from '@tenon/core/internal'

/** An allocator whose memory ends when it is closed. */
export class Lifetime extends ManagedLifetime implements NativeAllocator {
  protected override readonly label = 'the test'
  readonly #buffers: ArrayBuffer[] = []

  allocate(byteSize: number, byteAlignment?: number): Segment {
    const { block, base } = gcAllocator.allocate(byteSize, byteAlignment)
    this.#buffers.push(block.view.buffer as ArrayBuffer)
    return new Segment(new Block(this.gate, block.view, block.bytes, block.address), base, byteSize, 0)
  }

  protected override release(): void {
    for (const buffer of this.#buffers) buffer.transfer(0)
  }
}
