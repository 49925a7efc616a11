import type { Gate, PartSource, SharedChunk } from '@tenon/core/internal'
import type { Mapping } from './mapping.ts'

/** Mapped memory with a descriptor that other processes can map. Its owner closes both after {@link end}. */
export class Chunk implements SharedChunk, PartSource {
  readonly descriptor: number
  readonly mapping: Mapping
  readonly isWritable: boolean
  readonly start = 0
  readonly #gate: Gate
  readonly #listeners = new Set<() => void>()
  #hasEnded = false

  /** @param mapping one with a buffer. @param gate that of the lifetime that owns the chunk. */
  constructor(gate: Gate, descriptor: number, mapping: Mapping, isWritable: boolean) {
    this.#gate = gate
    this.descriptor = descriptor
    this.mapping = mapping
    this.isWritable = isWritable
  }

  get address(): number {
    return this.mapping.address
  }

  get byteSize(): number {
    return this.mapping.byteSize
  }

  get buffer(): ArrayBufferLike {
    return this.mapping.buffer!
  }

  get shared(): SharedChunk {
    return this
  }

  get isAlive(): boolean {
    return this.#gate.open && !this.#hasEnded
  }

  onClose(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** The buffer of the whole mapping, because one lifetime owns all of it. */
  bufferOf(): ArrayBufferLike {
    return this.buffer
  }

  /** Tells the listeners, before the memory is unmapped. */
  end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    for (const listener of this.#listeners) listener()
    this.#listeners.clear()
  }
}
