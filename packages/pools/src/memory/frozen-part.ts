import type { PartSource, SharedChunk } from '@tenon/core/internal'
import type { Chunk } from './chunk.ts'

/** All of a frozen chunk, which lives as long as the segments over it. Its contents are copied out, so that it has no raw views. */
export class FrozenPart implements PartSource {
  readonly start = 0
  readonly #chunk: Chunk

  constructor(chunk: Chunk) {
    this.#chunk = chunk
  }

  get address(): number {
    return this.#chunk.address
  }

  get buffer(): ArrayBufferLike {
    return this.#chunk.buffer
  }

  get shared(): SharedChunk | undefined {
    return this.#chunk.shared
  }

  bufferOf(): ArrayBufferLike {
    return this.#chunk.buffer
  }
}
