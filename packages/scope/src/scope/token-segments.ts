import { ArgumentError } from '@tenon/core'
import {
  addressOf,
  Block,
  checkSlice,
  describe,
  expose,
  type Gate,
  inspectAsText,
  isDetached,
  READ_ONLY,
  wrongType,
} from '@tenon/core/internal'
import { MemorySegment } from '../segment/memory-segment.ts'
import { chunkIn } from './chunk.ts'

/** A segment in a message: its buffer and its place there. */
export interface SegmentToken {
  readonly buffer: ArrayBufferLike
  readonly byteOffset: number
  readonly byteSize: number
  readonly flags: number
}

interface TokenFields {
  readonly tenon: 'shared-scope' | 'confined-scope'
  readonly name: string | undefined
  readonly segments: readonly SegmentToken[]
}

/** The form in which the sender prints a message. `postMessage` copies the fields alone. */
const printed = {
  toString(this: TokenFields): string {
    const count = `${this.segments.length} ${this.segments.length === 1 ? 'segment' : 'segments'}`
    return `token of a ${this.tenon.replace('-', ' ')}${this.name === undefined ? '' : ` "${this.name}"`} with ${count}`
  },
}
inspectAsText({ prototype: printed })

export function newToken<Token extends TokenFields>(fields: Token): Token {
  return Object.assign(Object.create(printed) as object, fields)
}

/** Puts segments of one scope into a message. @throws {ArgumentError} if a segment belongs to another scope. */
export function describeSegments(gate: Gate, segments: readonly MemorySegment[]): SegmentToken[] {
  if (!Array.isArray(segments)) throw wrongType('segments', 'an array', segments)
  return segments.map((segment: MemorySegment, i) => {
    if (!(segment instanceof MemorySegment)) throw wrongType(`segments[${i}]`, 'a MemorySegment', segment)
    const { block, base, byteSize, flags } = segment
    if (block.gate !== gate) {
      throw new ArgumentError(`segments[${i}] must be memory of the scope that is sent, got memory of another scope`, {
        hint: 'Copy the memory into a segment of this scope.',
      })
    }
    return { buffer: block.view.buffer, byteOffset: block.view.byteOffset + base, byteSize, flags }
  })
}

/** @throws {ArgumentError} if the value is not a segment token. @throws {BoundsError} if it reaches outside of its buffer. */
function checkToken(token: SegmentToken): SegmentToken {
  const buffer: unknown = (token as SegmentToken | null)?.buffer
  if (!(buffer instanceof ArrayBuffer || buffer instanceof SharedArrayBuffer) || (token.flags & ~READ_ONLY) !== 0) {
    throw new ArgumentError(`a segment of a message must come from share() or handoff(), got ${describe(token)}`)
  }
  if (isDetached(buffer)) {
    throw new ArgumentError('a segment of a message must have its memory, got a buffer that was transferred away', {
      hint: 'Attach once, in the thread that received the message.',
    })
  }
  checkSlice(buffer.byteLength, token.byteOffset, token.byteSize)
  return token
}

/** Creates the segments of a message again. Segments of one buffer share a block, which `own` takes over. */
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
      // The receiver can reach the buffer through the message, and may transfer it away or attach it again.
      expose(block)
      own(block, size)
    }
    return new MemorySegment(block, byteOffset, byteSize, flags)
  })
}
