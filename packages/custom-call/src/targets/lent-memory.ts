import { cpu, gcAllocator, Segment, Tensor, type TensorType } from '@tenon/core'
import { Block, bufferOver, ManagedLifetime, READ_ONLY } from '@tenon/core/internal'
import { InvalidArgumentError } from '../errors/xla-error-classes.ts'

/** The memory that a native caller lends to a TypeScript function: it ends when the function returns. */
export class LentMemory extends ManagedLifetime {
  readonly #name: string
  readonly #buffers: ArrayBuffer[] = []

  constructor(name: string) {
    super()
    this.#name = name
  }

  protected override get label(): string {
    return `the memory that was lent to ${this.#name}`
  }

  protected override release(): void {
    // Detaching ends every raw view of the memory.
    for (const buffer of this.#buffers) buffer.transfer(0)
  }

  /**
   * A tensor over it.
   *
   * @param pointer of a buffer, as its frame has it.
   * @throws {InvalidArgumentError} if it is null, and the tensor has elements.
   */
  tensor(pointer: bigint, type: TensorType, readOnly: boolean): Tensor {
    if (type.byteSize === 0) return new Tensor(gcAllocator.allocate(0), type, cpu)
    if (pointer === 0n) {
      throw new InvalidArgumentError({
        xlaCode: 3,
        text: `a buffer of ${type} has no memory`,
        target: this.#name,
        stage: 'execute',
        refused: true,
      })
    }
    const address = Number(pointer)
    const buffer = bufferOver(address, type.byteSize)
    this.#buffers.push(buffer)
    const block = new Block(this.gate, new DataView(buffer), Buffer.from(buffer), address)
    return new Tensor(new Segment(block, 0, type.byteSize, readOnly ? READ_ONLY : 0), type, cpu)
  }
}
