import { Segment, type NativeAllocator } from '@tenon/core'
import { addressOf, Block, ManagedLifetime, newArrayBuffer } from '@tenon/core/internal'

/** An allocator whose memory ends when it is closed. */
export class Lifetime extends ManagedLifetime implements NativeAllocator {
  protected override readonly label = 'the test'
  readonly #buffers: ArrayBuffer[] = []

  allocate(byteSize: number, byteAlignment: number = 16): Segment {
    const buffer = newArrayBuffer(byteSize, byteAlignment)
    this.#buffers.push(buffer)
    const address = addressOf(buffer)
    const block = new Block(this.gate, new DataView(buffer), Buffer.from(buffer), address)
    return new Segment(block, -address & (byteAlignment - 1), byteSize, 0)
  }

  protected override release(): void {
    for (const buffer of this.#buffers) buffer.transfer(0)
  }
}
