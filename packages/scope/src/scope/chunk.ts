import { AllocationError } from '@tenon/core'
import { ARRAY_BUFFER_ALIGNMENT, addressOf, newArrayBuffer } from '@tenon/core/internal'

/** Memory of JavaScript's own that scopes lend. A block over it is made anew for each borrower. */
export interface Chunk {
  readonly view: DataView
  readonly bytes: Buffer
  readonly address: number
  /** In bytes. Reading it from the view would cost ten times as much. */
  readonly size: number
}

/**
 * A chunk of `byteSize` zeroed bytes at a multiple of `byteAlignment`. @throws {AllocationError} if there is no memory.
 */
export function newChunk(byteSize: number, byteAlignment: number): Chunk {
  return chunkOver(newArrayBuffer(byteSize, byteAlignment), byteSize, byteAlignment)
}

/**
 * {@link newChunk} of memory that other threads can attach. It can't be detached: it lives as long as somebody has it.
 *
 * @param margin bytes of the buffer that stay free before and behind the chunk.
 */
export function newSharedChunk(byteSize: number, byteAlignment: number, margin: number = 0): Chunk {
  const room = Math.max(byteSize, 1) + Math.max(byteAlignment - ARRAY_BUFFER_ALIGNMENT, 0) + 2 * margin
  let buffer: SharedArrayBuffer
  try {
    buffer = new SharedArrayBuffer(room)
  } catch (cause) {
    throw new AllocationError(`${byteSize} shared bytes aligned to ${byteAlignment} could not be allocated`, {
      hint: 'ask for less, or free what is not needed any more.',
      details: { byteSize, byteAlignment },
      cause,
    })
  }
  return chunkOver(buffer, byteSize, byteAlignment, margin)
}

function chunkOver(buffer: ArrayBufferLike, byteSize: number, byteAlignment: number, margin: number = 0): Chunk {
  const address = addressOf(buffer)
  const start = margin + ((byteAlignment - ((address + margin) % byteAlignment)) % byteAlignment)
  // At least one byte, so that the address of an empty segment is its own.
  return chunkIn(buffer, start, Math.max(byteSize, 1), address + start)
}

/** A chunk that is a part of a buffer whose address is known. */
export function chunkIn(buffer: ArrayBufferLike, start: number, size: number, address: number): Chunk {
  return {
    view: new DataView(buffer, start, size),
    bytes: Buffer.from(buffer as ArrayBuffer, start, size),
    address,
    size,
  }
}

/**
 * Gives the memory back to the system: no view over it reaches it any more. Shared memory is left to its last user.
 *
 * @returns false if a user has transferred it away through a raw view: then another buffer reaches it.
 */
export function detach(view: DataView): boolean {
  const { buffer } = view
  if (buffer instanceof SharedArrayBuffer) return true
  if (buffer.detached) return false
  buffer.transfer(0)
  return true
}
