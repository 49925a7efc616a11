import { Segment, tensor, type Tensor } from '@tenon/core'
import { addressOf, Block, ManagedLifetime } from '@tenon/core/internal'

/** Memory of a lifetime that a test closes. */
export class LentMemory extends ManagedLifetime {
  readonly #block: Block

  constructor() {
    super()
    const { buffer } = new Float32Array([1, 2])
    this.#block = new Block(this.gate, new DataView(buffer), Buffer.from(buffer), addressOf(buffer))
  }

  protected override get label(): string {
    return 'the memory of a test'
  }

  protected override release(): void {}

  /** A tensor of 1 and 2. @param flags those of its segment */
  tensor(flags = 0): Tensor<'float32'> {
    return tensor('float32', [2], new Segment(this.#block, 0, 8, flags))
  }
}
