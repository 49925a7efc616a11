import { type Chunk, detach, newChunk } from './chunk.ts'

/** The size of an arena's first chunk, in bytes. Later ones double up to {@link LARGEST_CHUNK}. */
export const SMALLEST_CHUNK: number = 64 * 1024
export const LARGEST_CHUNK: number = 1024 * 1024

/** The alignment of every chunk. Allocations with at most this alignment do not depend on the chunk's address. */
export const CHUNK_ALIGNMENT = 64

/** The limit of the pooled chunks of one size, in bytes. */
const POOLED_BYTES = LARGEST_CHUNK

const smallest: Chunk[] = []
const larger: ReadonlyMap<number, Chunk[]> = new Map([2, 4, 8, 16].map((factor) => [factor * SMALLEST_CHUNK, []]))

/** A zeroed chunk of the smallest size from the pool. */
export function takePooled(): Chunk | undefined {
  return smallest.pop()
}

/** A zeroed chunk: the one returned last, or a new one. @throws {AllocationError} if there is no memory. */
export function takeChunk(byteSize: number): Chunk {
  const chunks = byteSize === SMALLEST_CHUNK ? smallest : larger.get(byteSize)
  return chunks?.pop() ?? newChunk(byteSize, CHUNK_ALIGNMENT)
}

/**
 * Takes a chunk back. Zeroes its first `used` bytes and keeps it, or gives its memory back to the system when the pool has
 * enough chunks of its size. No raw view of the chunk may have been handed out.
 */
export function giveChunk(chunk: Chunk, used: number): void {
  const chunks = chunk.size === SMALLEST_CHUNK ? smallest : larger.get(chunk.size)
  if (chunks === undefined || (chunks.length + 1) * chunk.size > POOLED_BYTES) {
    detach(chunk.view)
  } else {
    zero(chunk, used)
    chunks.push(chunk)
  }
}

/** Up to this many bytes, writing eight at a time is faster than the call of `fill`. */
const SMALL = 128

function zero({ view, bytes }: Chunk, used: number): void {
  if (used > SMALL) {
    bytes.fill(0, 0, used)
  } else {
    for (let offset = 0; offset < used; offset += 8) view.setFloat64(offset, 0)
  }
}

export function pooledBytes(): number {
  return [smallest, ...larger.values()].flat().reduce((sum, { size }) => sum + size, 0)
}
