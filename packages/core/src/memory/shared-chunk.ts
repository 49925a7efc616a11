/**
 * A range of mapped memory that other processes can map too, by its descriptor. Its first byte is the first byte of the
 * descriptor's memory. The chunk owns the descriptor and the mapping until it is closed.
 */
export interface SharedChunk {
  /** The descriptor, which is valid while the chunk is alive. Duplicate it to keep it. */
  readonly descriptor: number
  /** The size in bytes of the mapping and of the memory that the descriptor has from its start. */
  readonly byteSize: number
  /** The address of the first byte. */
  readonly address: number
  /** Whether other processes may map the memory writable. */
  readonly isWritable: boolean
  /** Whether the chunk is open. It is false from the moment closing begins. */
  readonly isAlive: boolean
  /**
   * Calls the listener once, when the chunk closes and before the memory is unmapped. The listener must not throw.
   *
   * @returns a function that takes the listener back.
   */
  onClose(listener: () => void): () => void
}
