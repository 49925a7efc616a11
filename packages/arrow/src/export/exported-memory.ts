import { AllocationError, type Segment, type Tensor } from '@tenon/core'
import {
  addressOf,
  checkEnterable,
  coreFunctions,
  gateOfBuffer,
  type Gated,
  holdAll,
  isMainThread,
  lastError,
  makeHold,
  releaseAll,
} from '@tenon/core/internal'
import { sweepPassed } from '../import/passed-batches.ts'

const out = new BigUint64Array(1)

/**
 * The memory of one export. On the main thread it is that of the tensors, which are held until the consumer releases the export. The memory of
 * a worker ends with the worker, whose exports can live longer, so they have copies in memory of the C library.
 */
export class ExportedMemory {
  readonly #isCopied = !isMainThread()
  readonly #gated: Gated[] = []
  readonly #kept: unknown[] = []
  /** The addresses of copies. */
  readonly #copies: number[] = []

  /** Adds the memory of a tensor without strides, and returns its address for the consumer. @throws {ScopeClosedError} */
  addTensor(tensor: Tensor): number {
    checkEnterable(tensor.block)
    return this.#add(tensor.address, tensor.type.byteSize, tensor, tensor)
  }

  addSegment(segment: Segment): number {
    return this.#add(Number(segment.address), segment.byteSize, { gate: segment.block.gate }, segment)
  }

  /** Adds bytes of JavaScript, or of memory that belongs to a lifetime. */
  addBytes(bytes: ArrayBufferView): number {
    const gate = gateOfBuffer(bytes.buffer)
    return this.#add(addressOf(bytes), bytes.byteLength, gate === undefined ? undefined : { gate }, bytes)
  }

  #add(address: number, byteSize: number, gated: Gated | undefined, kept: unknown): number {
    if (this.#isCopied) return this.#copy(address, byteSize)
    if (gated !== undefined) this.#gated.push(gated)
    this.#kept.push(kept)
    return address
  }

  #copy(address: number, byteSize: number): number {
    const core = coreFunctions()
    if (core.tn_memory_allocate(byteSize, 64, addressOf(out)) !== 0) {
      this.free()
      throw new AllocationError(lastError(), { details: { byteSize } })
    }
    const copy = Number(out[0])
    core.tn_memory_copy(copy, address, byteSize)
    this.#copies.push(copy)
    return copy
  }

  /** Frees the copies of an export that fails. */
  free(): void {
    for (const copy of this.#copies) coreFunctions().tn_memory_free(copy)
    this.#copies.length = 0
  }

  /**
   * Gives the memory to the consumer.
   *
   * @returns the hold, or 0 if everything is copied, and the copies, all of which native code takes over.
   * @throws {ScopeClosedError} if a lifetime is closing.
   */
  give(): { readonly hold: number; readonly copies: BigUint64Array } {
    const copies = BigUint64Array.from(this.#copies, BigInt)
    this.#copies.length = 0
    return { hold: this.#isCopied ? 0 : holdFor(this.#gated, this.#kept), copies }
  }
}

/** The objects that exports keep until their consumers release them. */
const keptByConsumers = new Set<readonly unknown[]>()

function holdFor(gated: readonly Gated[], kept: readonly unknown[]): number {
  const holds = holdAll(gated)
  try {
    const hold = makeHold(() => {
      keptByConsumers.delete(kept)
      releaseAll(holds)
      sweepPassed()
    })
    keptByConsumers.add(kept)
    return hold
  } catch (error) {
    releaseAll(holds)
    throw error
  }
}
