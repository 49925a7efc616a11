import { type PartSource, type SharedChunk, sharedBufferOf } from '@tenon/core/internal'
import { closeDescriptor, sealDescriptor, seals } from './descriptor.ts'
import { closeMapping, type Mapping } from './mapping.ts'

/** Mapped memory with a descriptor that other processes can map. Its owner closes it. */
export class Chunk implements SharedChunk, PartSource {
  /** The number of the chunk in its memory, which no later chunk gets. */
  readonly id: number
  /** Negative if the memory was received without one. */
  readonly descriptor: number
  readonly mapping: Mapping
  isWritable: boolean
  readonly start = 0
  /** Whether somebody may have a raw view that goes on after the chunk is closed. */
  isExposed = false
  readonly #owner: { readonly open: boolean }
  readonly #listeners = new Set<() => void>()
  #bytes: Uint8Array | undefined
  #hasEnded = false
  #threads: SharedArrayBuffer | undefined

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

  get shared(): SharedChunk | undefined {
    return this.descriptor < 0 ? undefined : this
  }

  /** The memory for other threads of this process; undefined if it is not writable, or the runtime cannot make one. */
  get threads(): SharedArrayBuffer | undefined {
    if (this.buffer instanceof SharedArrayBuffer) return this.buffer
    return (this.#threads ??= this.isWritable ? sharedBufferOf(this.descriptor, this.byteSize) : undefined)
  }

  /** Keeps others from mapping the memory writable from now on. @throws {PoolsError} if the system refuses. */
  sealForOthers(): void {
    sealDescriptor(this.descriptor, seals.FUTURE_WRITE)
    this.isWritable = false
    this.#threads = undefined
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
    this.#bytes = this.#threads = undefined
    try {
      closeMapping(this.mapping, this.isExposed)
    } finally {
      if (this.descriptor >= 0) closeDescriptor(this.descriptor)
    }
  }
}
