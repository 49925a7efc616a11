import { ArgumentError } from '@tenon/core'
import { addressOf, Block, checkSlice, describe, expose, type Gate, READ_ONLY } from '@tenon/core/internal'
import { MemorySegment } from '../segment/memory-segment.ts'
import { chunkIn } from './chunk.ts'

/** A segment in a message: the buffer that it is in, and where. */
export interface SegmentToken {
  readonly buffer: ArrayBufferLike
  readonly byteOffset: number
  readonly byteSize: number
  readonly flags: number
}

/** Puts segments of one scope into a message. @throws {ArgumentError} if one is of another scope. */
export function describeSegments(gate: Gate, segments: readonly MemorySegment[]): SegmentToken[] {
  if (!Array.isArray(segments)) throw new ArgumentError(`segments must be an array, got ${describe(segments)}`)
  return segments.map((segment: MemorySegment, i) => {
    if (!(segment instanceof MemorySegment)) {
      throw new ArgumentError(`segments[${i}] must be a MemorySegment, got ${describe(segment)}`)
    }
    const { block, base, byteSize, flags } = segment
    if (block.gate !== gate) {
      throw new ArgumentError(`segments[${i}] must be memory of the scope that is sent, it is of another one`)
    }
    return { buffer: block.view.buffer, byteOffset: block.view.byteOffset + base, byteSize, flags }
  })
}

/** @throws {ArgumentError} if it is none. @throws {BoundsError} if it reaches outside of its buffer. */
function checkToken(token: SegmentToken): SegmentToken {
  const buffer: unknown = (token as SegmentToken | null)?.buffer
  if (!(buffer instanceof ArrayBuffer || buffer instanceof SharedArrayBuffer) || (token.flags & ~READ_ONLY) !== 0) {
    throw new ArgumentError(`a segment of a message must be one of share() or handoff(), got ${describe(token)}`)
  }
  if (buffer instanceof ArrayBuffer && buffer.detached) {
    throw new ArgumentError('a segment of a message must have its memory, it was moved to another thread', {
      hint: 'attach once, in the thread that the message was sent to.',
    })
  }
  checkSlice(buffer.byteLength, token.byteOffset, token.byteSize)
  return token
}

/** Makes segments of a message anew; segments of one buffer share a block. `own` takes each block over. */
export function reviveSegments(
  gate: Gate,
  tokens: readonly SegmentToken[],
  own: (block: Block, size: number) => void,
): MemorySegment[] {
  const blocks = new Map<ArrayBufferLike, Block>()
  return tokens.map((token) => {
    const { buffer, byteOffset, byteSize, flags } = checkToken(token)
    let block = blocks.get(buffer)
    if (block === undefined) {
      const size = buffer.byteLength
      const { view, bytes, address } = chunkIn(buffer, 0, size, addressOf(buffer))
      blocks.set(buffer, (block = new Block(gate, view, bytes, address)))
      // Who has the message has the buffer in hand: it may be transferred away, or attached a second time.
      expose(block)
      own(block, size)
    }
    return new MemorySegment(block, byteOffset, byteSize, flags)
  })
}
