import { cpu, gcAllocator, Segment, Tensor } from '@tenon/core'
import { Block, lentBuffer, type LentBuffer, ManagedLifetime, READ_ONLY } from '@tenon/core/internal'
import { refused } from '../errors/xla-error-classes.ts'
import type { ReadBuffer } from '../native/read-frame.ts'

/** Makes tensors over the memory of a native caller, and closes them when `use` returns. @throws {InvalidArgumentError} */
export function useLentMemory(
  name: string,
  buffers: readonly ReadBuffer[],
  operandCount: number,
  use: (tensors: readonly Tensor[]) => void,
): void {
  const lent = new LentMemory(name)
  try {
    use(buffers.map((buffer, i) => lent.tensor(buffer, i < operandCount)))
  } catch (error) {
    try {
      lent.close()
    } catch {
      // The call has failed already. Something that the function started may still hold the memory.
    }
    throw error
  }
  lent.close()
}

/** The memory that a native caller lends to a TypeScript function until the function returns. */
class LentMemory extends ManagedLifetime {
  readonly #name: string
  readonly #buffers: LentBuffer[] = []

  constructor(name: string) {
    super()
    this.#name = name
  }

  protected override get label(): string {
    return `the memory that was lent to ${this.#name}`
  }

  protected override release(): void {
    for (const { end } of this.#buffers) end()
  }

  /** Makes a tensor over a buffer. @throws {InvalidArgumentError} if the pointer is null, and the tensor has elements. */
  tensor({ type, pointer }: ReadBuffer, readOnly: boolean): Tensor {
    if (type.byteSize === 0) return new Tensor(gcAllocator.allocate(0), type, cpu)
    if (pointer === 0n) throw refused('INVALID_ARGUMENT', this.#name, `a buffer of ${type} has no memory`)
    const lent = lentBuffer(Number(pointer), type.byteSize, readOnly)
    this.#buffers.push(lent)
    const { buffer, address } = lent
    const block = new Block(this.gate, new DataView(buffer), Buffer.from(buffer), address)
    return new Tensor(new Segment(block, 0, type.byteSize, readOnly ? READ_ONLY : 0), type, cpu)
  }
}
