import { Segment } from '@tenon/core'
import { Cleaner, ManagedLifetime, pointerBlock } from '@tenon/core/internal'
import { type Owned, releaseStruct } from '../import/owned.ts'

const collected = new Cleaner<readonly number[]>((handles) => {
  for (const handle of handles) releaseStruct(handle)
})

/** Structs of Arrow that wait for a consumer. Those that no consumer has moved are released when this is closed, or collected. */
abstract class ExportedStructs extends ManagedLifetime {
  readonly #handles: readonly number[]

  /** @internal */
  constructor(structs: readonly Owned[]) {
    super()
    this.#handles = structs.map(({ handle }) => handle)
    collected.watch(this, this.#handles, this)
  }

  protected pointer({ address }: Owned): Segment {
    return new Segment(pointerBlock(this.gate, address), 0, 0, 0)
  }

  protected override release(): void {
    collected.forget(this)
    for (const handle of this.#handles) releaseStruct(handle)
  }
}

/**
 * An array and its schema for a consumer, which moves both structs and releases them later, on any thread. Until then the memory of the tensors
 * is held: closing its lifetime throws `ScopeHeldError`. {@link exportBatch} and {@link exportColumn} make one.
 *
 * Close it after the call of the consumer: that releases what the consumer has not moved, and frees the structs themselves.
 */
export class ArrowExport extends ExportedStructs {
  /** A pointer to the `ArrowSchema`. */
  readonly schema: Segment
  /** A pointer to the `ArrowArray`. */
  readonly array: Segment

  /** @internal */
  constructor(schema: Owned, array: Owned) {
    super([schema, array])
    this.schema = this.pointer(schema)
    this.array = this.pointer(array)
  }

  protected override get label(): string {
    return 'the Arrow export'
  }

  override toString(): string {
    return `ArrowExport (${this.gate.open ? 'open' : 'closed'})`
  }
}

/**
 * A stream for a consumer, which releases it later, on any thread. {@link exportStream} makes one. A consumer that has not moved the struct uses
 * it in place, so close this when the consumer has ended.
 */
export class ArrowStreamExport extends ExportedStructs {
  /** A pointer to the `ArrowArrayStream`. */
  readonly stream: Segment

  /** @internal */
  constructor(stream: Owned) {
    super([stream])
    this.stream = this.pointer(stream)
  }

  protected override get label(): string {
    return 'the exported Arrow stream'
  }

  override toString(): string {
    return `ArrowStreamExport (${this.gate.open ? 'open' : 'closed'})`
  }
}
