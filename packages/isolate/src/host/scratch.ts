import type { SharedChunk } from '@tenon/core/internal'
import { Chunk, closeDescriptor, createSharedMemory, openMapping } from '@tenon/pools/internal'

/** Shared memory for the parts of one request that do not fit into its slot. */
export interface Scratch {
  readonly chunk: SharedChunk
  /** Where each part begins, in bytes. */
  readonly offsets: readonly number[]
  /** Closes the memory, once the request was answered. */
  close(): void
}

/** Copies parts into shared memory, each to a multiple of 64 bytes. @throws {PoolsError} if no memory is left */
export function makeScratch(parts: readonly Uint8Array[]): Scratch {
  const offsets: number[] = []
  let end = 0
  for (const { length } of parts) {
    offsets.push(end)
    end = Math.ceil((end + length) / 64) * 64
  }
  const byteSize = Math.max(end, 64)
  const descriptor = createSharedMemory(byteSize, 'request')
  let chunk: Chunk
  try {
    const mapping = openMapping(descriptor, 0, byteSize, { isShared: true, isGuarded: false })
    chunk = new Chunk({ open: true }, descriptor, mapping, true)
  } catch (error) {
    closeDescriptor(descriptor)
    throw error
  }
  parts.forEach((part, index) => chunk.bytes.set(part, offsets[index]))
  return { chunk, offsets, close: () => chunk.close() }
}
