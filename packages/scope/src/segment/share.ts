import { ArgumentError, type Segment, UnsupportedError } from '@tenon/core'
import { type Block, checkUsable, expose, isPointer } from '@tenon/core/internal'
import { UnclosableScope } from '../scope/gc-scopes.ts'
import { newToken, type SegmentToken, tokenOf } from '../scope/segment-token.ts'
import { isMappedBlock, threadsOfMapping } from './mapped-file.ts'

/** A message that lets another thread use a segment of memory that the garbage collector owns. See `ResourceScope.attach()`. */
export interface ImplicitToken {
  readonly tenon: 'implicit-scope'
  readonly name: undefined
  readonly segments: readonly SegmentToken[]
}

/** The message of `MemorySegment.share()`. @throws {ArgumentError | UnsupportedError} */
export function shareSegment(segment: Segment): ImplicitToken {
  const { block, base, byteSize, flags } = segment
  checkUsable(block)
  if (!(block.gate.owner instanceof UnclosableScope)) {
    throw new ArgumentError(
      'the segment must be memory that the garbage collector owns, got memory of another lifetime',
      {
        hint: 'Use share() of a shared scope, or handoff() of a confined one.',
      },
    )
  }
  return newToken<ImplicitToken>({
    tenon: 'implicit-scope',
    name: undefined,
    segments: [
      isMappedBlock(block) ? mappedToken(block, base, byteSize, flags) : memoryToken(block, base, byteSize, flags),
    ],
  })
}

function memoryToken(block: Block, base: number, byteSize: number, flags: number): SegmentToken {
  if (isPointer(block) || !(block.view.buffer instanceof SharedArrayBuffer)) {
    const received = isPointer(block)
      ? 'a pointer'
      : 'memory of a JavaScript buffer, of native code or with guard pages'
    throw new ArgumentError(`the segment must be memory that threads can share, got ${received}`, {
      hint: 'Copy it to memory of MemorySegment.allocateNative(), without TENON_DEBUG=guard.',
    })
  }
  expose(block)
  return tokenOf({ block, base, byteSize, flags })
}

function mappedToken(block: Block, base: number, byteSize: number, flags: number): SegmentToken {
  const buffer = threadsOfMapping(block)
  if (buffer !== undefined) return { buffer, byteOffset: base, byteSize, flags }
  throw new UnsupportedError('this runtime cannot share a mapped file between threads', {
    hint: 'Map the file in the other thread, or use Node.js 22.20 or later on Linux or macOS.',
  })
}
