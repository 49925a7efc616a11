import * as types from 'node:util/types'
import { ArgumentError } from '@tenon/core'
import {
  addressOf,
  Block,
  checkSlice,
  checkUsable,
  describe,
  expose,
  type Gate,
  gateOfBuffer,
  isDetached,
  READ_ONLY,
  wrongType,
} from '@tenon/core/internal'
import { checkFixedSize } from '../segment/foreign-memory.ts'
import { MemorySegment, newSegment } from '../segment/memory-segment.ts'
import { chunkIn } from './chunk.ts'
import type { Described, SegmentToken } from './segment-token.ts'

/** Reads the segments for a message. @throws {ArgumentError} if a segment belongs to another scope. */
export function describeSegments(gate: Gate, segments: readonly MemorySegment[]): Described[] {
  if (!Array.isArray(segments)) throw wrongType('segments', 'an array', segments)
  // Array.from() reads the holes of an array, which map() omits.
  return Array.from(segments, (segment: MemorySegment, i) => {
    if (!(segment instanceof MemorySegment)) throw wrongType(`segments[${i}]`, 'a MemorySegment', segment)
    const { block, base, byteSize, flags } = segment
    if (block.gate !== gate) {
      throw new ArgumentError(`segments[${i}] must be memory of the scope that is sent, got memory of another scope`, {
        hint: 'Copy the memory into a segment of this scope.',
      })
    }
    checkUsable(block)
    return { block, base, byteSize, flags }
  })
}

/** @throws {ArgumentError} if the value is not a segment token. @throws {BoundsError} if it reaches outside of its buffer. */
function readToken(token: SegmentToken): SegmentToken {
  const { buffer, byteOffset, byteSize, flags } = (token ?? {}) as Partial<SegmentToken>
  if (!types.isAnyArrayBuffer(buffer) || (flags !== 0 && flags !== READ_ONLY)) {
    throw new ArgumentError(`a segment of a message must come from share() or handoff(), got ${describe(token)}`)
  }
  if (isDetached(buffer)) {
    throw new ArgumentError('a segment of a message must have its memory, got a buffer that was transferred away', {
      hint: 'Attach once, in the thread that received the message.',
    })
  }
  checkFixedSize(buffer, 'the buffer of a segment of a message')
  const [offset, size] = checkSlice(new Uint8Array(buffer).byteLength, byteOffset, byteSize ?? Number.NaN)
  return { buffer, byteOffset: offset, byteSize: size, flags }
}

/** @throws {ArgumentError} if an open scope of this thread owns the memory, which would be detached under it. */
function checkUnowned(buffer: ArrayBufferLike): void {
  if (buffer instanceof SharedArrayBuffer || gateOfBuffer(buffer)?.alive !== true) return
  throw new ArgumentError('a segment of a message must be memory that was sent, got memory of an open scope', {
    hint: 'Send it with handoff() first, and attach each message once.',
  })
}

/** Creates the segments of a message again. Segments of one buffer share a block, which `own` takes over. */
export function reviveSegments(
  gate: Gate,
  tokens: readonly SegmentToken[],
  own: (block: Block, size: number) => void,
): MemorySegment[] {
  const blocks = new Map<ArrayBufferLike, Block>()
  const read = Array.from(tokens, readToken)
  for (const { buffer } of read) checkUnowned(buffer)
  return read.map(({ buffer, byteOffset, byteSize, flags }) => {
    let block = blocks.get(buffer)
    if (block === undefined) {
      const { byteLength: size } = new Uint8Array(buffer)
      const { view, bytes, address } = chunkIn(buffer, 0, size, addressOf(buffer))
      blocks.set(buffer, (block = new Block(gate, view, bytes, address)))
      // The receiver can reach the buffer through the message, and may transfer it away or attach it again.
      expose(block)
      own(block, size)
    }
    return newSegment(block, byteOffset, byteSize, flags)
  })
}
