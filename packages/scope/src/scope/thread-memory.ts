import { Block, type Gate, guardMode, newGuardedMemory, Slab, SLAB_ALIGNMENT, ThreadRange } from '@tenon/core/internal'
import { isInstrumented } from '../diagnostics/debug.ts'
import { type Chunk, chunkIn, newSharedChunk } from './chunk.ts'

/** The bytes of a slab. A single survivor keeps all of them. */
const SLAB_SIZE = 16384

/** The largest part. Larger memory gets a range of its own, so that little of a slab is left over. */
const LARGEST_PART = SLAB_SIZE / 8

let slab: Slab | undefined

/**
 * Makes a block of zeroed memory that the garbage collector frees, and that other threads can have: part of a slab if it is small. Where
 * the runtime cannot share native memory, each block is a SharedArrayBuffer. Guarded memory has pages of its own, and cannot be shared.
 *
 * @throws {AllocationError} if memory is exhausted.
 */
export function newThreadBlock(gate: Gate, byteSize: number, byteAlignment: number): Block {
  // An empty block would look detached.
  const size = byteSize === 0 ? 1 : byteSize
  if (byteSize <= LARGEST_PART && byteAlignment <= SLAB_ALIGNMENT && slab !== undefined) {
    const offset = slab.take(size, byteAlignment)
    if (offset !== -1) return Block.ofPart(gate, slab, offset, size)
  }
  return newBlockElsewhere(gate, size, byteAlignment)
}

function newBlockElsewhere(gate: Gate, size: number, byteAlignment: number): Block {
  const guarded = guardMode ? newGuardedMemory(size, byteAlignment, String(gate.owner), true) : undefined
  if (guarded !== undefined) return blockOver(gate, chunkIn(guarded.buffer, 0, size, guarded.address))
  if (!isInstrumented && size <= LARGEST_PART && byteAlignment <= SLAB_ALIGNMENT) {
    const range = ThreadRange.open(SLAB_SIZE, SLAB_ALIGNMENT)
    if (range !== undefined) {
      slab = new Slab(SLAB_SIZE, range)
      return Block.ofPart(gate, slab, slab.take(size, byteAlignment), size)
    }
  }
  const range = ThreadRange.open(size, byteAlignment)
  if (range !== undefined) return Block.ofPart(gate, range, 0, size)
  return blockOver(gate, newSharedChunk(size, byteAlignment))
}

const blockOver = (gate: Gate, { view, bytes, address }: Chunk): Block => new Block(gate, view, bytes, address)
