import type { PartSource, SharedChunk } from '@tenon/core/internal'
import { closeDescriptor } from './descriptor.ts'
import { closeMapping, type Mapping } from './mapping.ts'

/** Mapped memory with a descriptor that other processes can map. Its owner closes it. */
export class Chunk implements SharedChunk, PartSource {
  /** The number of the chunk in its memory, which no later chunk gets. */
  readonly id: number
  readonly descriptor: number
  readonly mapping: Mapping
  readonly isWritable: boolean
  readonly start = 0
  /** Whether somebody may have a raw view that goes on after the chunk is closed. */
  isExposed = false
  readonly #owner: { readonly open: boolean }
  readonly #listeners = new Set<() => void>()
  #bytes: Uint8Array | undefined
  #hasEnded = false

  /** @param mapping one with a buffer. @param owner the gate of the lifetime that owns the chunk, or an object like it. */
  constructor(owner: { readonly open: boolean }, descriptor: number, mapping: Mapping, isWritable: boolean, id = 0) {
    this.#owner = owner
    this.descriptor = descriptor
    this.mapping = mapping
    this.isWritable = isWritable
    this.id = id
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

  /** All bytes. They are never handed out. */
  get bytes(): Uint8Array {
    return (this.#bytes ??= new Uint8Array(this.buffer))
  }

  get shared(): SharedChunk {
    return this
  }

  get isAlive(): boolean {
    return this.#owner.open && !this.#hasEnded
  }

  onClose(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** The buffer of the whole mapping, for an owner that hands all of it out. */
  bufferOf(): ArrayBufferLike {
    return this.buffer
  }

  /** Calls the listeners, before the memory is unmapped. */
  end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    for (const listener of this.#listeners) listener()
    this.#listeners.clear()
  }

  /** Unmaps the memory and closes the descriptor. */
  close(): void {
    this.end()
    this.#bytes = undefined
    try {
      closeMapping(this.mapping, this.isExposed)
    } finally {
      closeDescriptor(this.descriptor)
    }
  }
}
