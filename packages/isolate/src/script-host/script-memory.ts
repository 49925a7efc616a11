import { Segment } from '@tenon/core'
import { Block, ManagedLifetime, READ_ONLY } from '@tenon/core/internal'
import { closeDescriptor, closeMapping, openMapping, type Mapping } from '@tenon/pools/internal'

/** Memory of the client, which is mapped when a call first uses it. Owns its descriptor. */
export class ScriptMemory extends ManagedLifetime {
  readonly #descriptor: number
  readonly #byteSize: number
  readonly #isWritable: boolean
  #mapping: Mapping | undefined
  #segment: Segment | undefined

  constructor(descriptor: number, byteSize: number, isWritable: boolean) {
    super()
    this.#descriptor = descriptor
    this.#byteSize = byteSize
    this.#isWritable = isWritable
  }

  protected override get label(): string {
    return 'the memory of the client'
  }

  protected override release(): void {
    // Scripts may still have raw views.
    if (this.#mapping !== undefined) closeMapping(this.#mapping, true)
    closeDescriptor(this.#descriptor)
  }

  /** All bytes. @throws {PoolsError} if they cannot be mapped. */
  get segment(): Segment {
    return (this.#segment ??= this.#map())
  }

  #map(): Segment {
    const mapping = openMapping(this.#descriptor, 0, this.#byteSize, { isShared: this.#isWritable, isGuarded: false })
    this.#mapping = mapping
    // Node.js, which runs this program, allows buffers over native memory.
    const buffer = mapping.buffer as ArrayBuffer
    const block = new Block(this.gate, new DataView(buffer), Buffer.from(buffer), mapping.address)
    return new Segment(block, 0, this.#byteSize, this.#isWritable ? 0 : READ_ONLY)
  }
}
