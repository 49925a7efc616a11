import { AllocationError } from '@tenon/core'
import {
  addressOf,
  alignmentGap,
  detachBuffer,
  fillBytes,
  isDetached,
  newArrayBuffer,
  retireBuffer,
} from '@tenon/core/internal'

/** Memory of a JavaScript buffer that scopes lend. Each borrower gets a block of its own over the chunk. */
export interface Chunk {
  readonly view: DataView
  readonly bytes: Buffer
  readonly address: number
  /** The size in bytes. Reading it from the view would cost ten times as much. */
  readonly size: number
}

/** The work at close for memory that JavaScript did not allocate. */
export interface Upkeep {
  /** Inspects the memory before it is freed. Its error leaves close() after everything is freed. */
  readonly check?: () => void
  /** Frees the memory, once no view reaches it any more. */
  readonly free?: () => void
  /** Replaces `free` if raw views were handed out. It is called while the buffer of the views is attached, and detaches it. */
  readonly retire?: () => void
}

/** A zeroed chunk at a multiple of `byteAlignment`. @throws {AllocationError} if there is no memory. */
export function newChunk(byteSize: number, byteAlignment: number): Chunk {
  return chunkOver(newArrayBuffer(byteSize, byteAlignment), byteSize, byteAlignment)
}

/** Attached memory cannot be detached, so it lives until its last user drops it. `margin` bytes stay free on both sides. */
export function newSharedChunk(byteSize: number, byteAlignment: number, margin: number = 0): Chunk {
  const room = (byteSize === 0 ? 1 : byteSize) + alignmentGap(byteAlignment) + 2 * margin
  let buffer: SharedArrayBuffer
  try {
    buffer = new SharedArrayBuffer(room)
  } catch (cause) {
    throw new AllocationError(`${byteSize} shared bytes aligned to ${byteAlignment} could not be allocated`, {
      hint: 'Allocate less, or free memory that you no longer need.',
      details: { byteSize, byteAlignment },
      cause,
    })
  }
  return chunkOver(buffer, byteSize, byteAlignment, margin)
}

function chunkOver(buffer: ArrayBufferLike, byteSize: number, byteAlignment: number, margin: number = 0): Chunk {
  const address = addressOf(buffer)
  const start = margin + ((byteAlignment - ((address + margin) % byteAlignment)) % byteAlignment)
  // At least one byte, so that an empty segment has an address of its own.
  return chunkIn(buffer, start, byteSize === 0 ? 1 : byteSize, address + start)
}

export function chunkIn(buffer: ArrayBufferLike, start: number, size: number, address: number): Chunk {
  return {
    view: new DataView(buffer, start, size),
    bytes: Buffer.from(buffer as ArrayBuffer, start, size),
    address,
    size,
  }
}

/**
 * Detaches memory that no raw view reaches, which frees it if it is JavaScript's. Leaves shared memory to its last user.
 * Returns false if a user has transferred the buffer, or forbidden that.
 */
export function detach({ buffer }: DataView): boolean {
  if (buffer instanceof SharedArrayBuffer) return true
  return !isDetached(buffer) && detachBuffer(buffer)
}

/** {@link detach} for memory of JavaScript that raw views reach: the garbage collector frees it when it has collected them. */
export function retire({ buffer }: DataView): boolean {
  if (buffer instanceof SharedArrayBuffer) return true
  return !isDetached(buffer) && retireBuffer(buffer)
}

/** Up to this many bytes, writing eight at a time is faster than the call of `fill`. */
const SMALL = 128

/** Zeroes bytes from an offset that is a multiple of 8. The memory must have a multiple of 8 bytes. */
export function zero({ view, bytes }: Pick<Chunk, 'view' | 'bytes'>, start: number, byteSize: number): void {
  const end = start + byteSize
  if (byteSize > SMALL) {
    fillBytes(bytes, 0, start, end)
  } else {
    for (let offset = start; offset < end; offset += 8) view.setFloat64(offset, 0)
  }
}
