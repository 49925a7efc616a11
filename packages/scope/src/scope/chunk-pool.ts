import { type Chunk, detach, newChunk, zero } from './chunk.ts'

/** The sizes of the chunks of arenas, in bytes. An arena that is full goes on with a chunk of the next size. */
const SIZES: readonly number[] = [0.5, 4, 16, 64, 256, 1024].map((size) => size * 1024)

export const SMALLEST_CHUNK: number = SIZES[0]!
const LARGEST_CHUNK: number = SIZES.at(-1)!

/** The largest chunk that an arena borrows when it opens, in bytes. */
export const LARGEST_FIRST: number = 64 * 1024

/** The alignment of every chunk. Allocations with at most this alignment do not depend on the chunk's address. */
export const CHUNK_ALIGNMENT = 64

/** The limits of the memory of pooled chunks, in bytes: of those that arenas borrow when they open, and of the others. */
const FIRST_BYTES = 1024 * 1024
const LARGER_BYTES = 4 * 1024 * 1024

/** The pooled chunks that arenas borrow when they open. The one returned last is taken first. */
const firsts: Chunk[] = []
const larger: Chunk[] = []
let firstBytes = 0
let largerBytes = 0

/** A zeroed chunk from the pool for an arena that opens. */
export function takePooled(): Chunk | undefined {
  const chunk = firsts.pop()
  if (chunk !== undefined) firstBytes -= chunk.size
  return chunk
}

/** The size of the chunk after one of `byteSize` bytes that has room for four times `needed` bytes, or the largest. */
export function nextSize(byteSize: number, needed: number): number {
  return SIZES.find((size) => size > byteSize && size >= 4 * needed) ?? LARGEST_CHUNK
}

/** The size of the first chunk of an arena that opens with `needed` bytes, more than a slot has: less than twice as many. */
export function fittingSize(needed: number): number {
  let size = SMALLEST_CHUNK
  while (size < needed) size *= 2
  return size
}

/** A zeroed chunk: the one returned last, or a new one. @throws {AllocationError} if there is no memory. */
export function takeChunk(byteSize: number): Chunk {
  const isFirst = byteSize <= LARGEST_FIRST
  const chunks = isFirst ? firsts : larger
  const index = chunks.findLastIndex(({ size }) => size === byteSize)
  if (index === -1) return newChunk(byteSize, CHUNK_ALIGNMENT)
  if (isFirst) firstBytes -= byteSize
  else largerBytes -= byteSize
  return chunks.splice(index, 1)[0]!
}

/**
 * Takes a chunk back. Zeroes its first `used` bytes and keeps it, or gives its memory back to the system when the pool has
 * enough. No raw view of the chunk may have been handed out.
 */
export function giveChunk(chunk: Chunk, used: number): void {
  const { size } = chunk
  if (size <= LARGEST_FIRST) {
    if (firstBytes + size > FIRST_BYTES) return void detach(chunk.view)
    firstBytes += size
    zero(chunk, 0, used)
    firsts.push(chunk)
  } else {
    if (largerBytes + size > LARGER_BYTES) return void detach(chunk.view)
    largerBytes += size
    zero(chunk, 0, used)
    larger.push(chunk)
  }
}

/** Gives the memory of all pooled chunks back to the system. */
export function trimChunks(): void {
  for (const { view } of [...firsts.splice(0), ...larger.splice(0)]) detach(view)
  firstBytes = 0
  largerBytes = 0
}

export function pooledBytes(): number {
  return firstBytes + largerBytes
}
