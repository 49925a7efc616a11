import { Tensor } from '@tenon/core'
import { checkEnterable, exposures, type Block, type Gated } from '@tenon/core/internal'

/**
 * The raw views of memory that is bound to calls. Holding memory keeps it from being closed, but a user who has a view can still
 * transfer its buffer, and the garbage collector then frees the memory with the other buffer.
 */
export class ExposedMemory {
  readonly #bound: readonly Gated[]
  /** Blocks of which a view was handed out, as of `#count`. */
  #blocks: readonly Block[] = []
  #count = -1

  /** @param bound operands of calls, among which the tensors are looked at. */
  constructor(bound: readonly Gated[]) {
    this.#bound = bound
  }

  /**
   * Checks the memory before a run.
   *
   * @returns the count of `exposures` until which no further check is needed; -1 if each run needs one.
   * @throws {ScopeClosedError} if a buffer was transferred.
   */
  check(): number {
    if (this.#count !== exposures.count) this.#find()
    const blocks = this.#blocks
    // Memory of no bytes has no length, either.
    for (let i = 0; i < blocks.length; i++) if (blocks[i]!.bytes.length === 0) checkEnterable(blocks[i]!)
    return blocks.length === 0 ? this.#count : -1
  }

  #find(): void {
    const blocks = this.#bound.flatMap((one) => (one instanceof Tensor && one.block.exposed ? one.block : []))
    this.#blocks = [...new Set(blocks)]
    this.#count = exposures.count
  }
}
