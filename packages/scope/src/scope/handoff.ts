import { ArgumentError, ScopeHeldError } from '@tenon/core'
import { expose, moveBuffer } from '@tenon/core/internal'
import type { MemorySegment } from '../segment/memory-segment.ts'
import type { ManagedScope } from './managed-scope.ts'
import { newToken, type SegmentToken, tokenOf } from './segment-token.ts'
import { describeSegments } from './token-segments.ts'

/** A message that moves the memory of a confined scope to another thread. See `ResourceScope.attach()`. */
export interface HandoffToken {
  readonly tenon: 'confined-scope'
  readonly name: string | undefined
  readonly segments: readonly SegmentToken[]
  /** The transfer list for `postMessage(token, token.transfer)`. Without this list, the memory would be copied. */
  readonly transfer: readonly ArrayBuffer[]
}

/**
 * Moves the memory of these segments out of their confined scope, and closes the scope. In the other thread the same bytes
 * have the same addresses.
 *
 * @throws {ScopeClosedError} once closing has begun. @throws {ScopeHeldError} if calls, holds or close actions need the
 * scope on this thread. @throws {ArgumentError} if a segment is not JavaScript's own memory in this scope.
 * @example
 * const token = scope.handoff([segment])
 * worker.postMessage(token, token.transfer)
 */
export function handOff(scope: ManagedScope, segments: readonly MemorySegment[]): HandoffToken {
  const described = describeSegments(scope.gate, segments)
  scope.checkOpen()
  if (scope.actions !== undefined && scope.actions.length > 0) {
    throw new ScopeHeldError('a scope with close actions cannot move to another thread', {
      hint: 'Open a scope without close actions for memory that moves, because functions stay on their thread.',
      details: { actions: scope.actions.length },
    })
  }
  described.forEach(({ block }, i) => {
    const isForeign = scope.owned?.some((owned) => owned.block === block && owned.upkeep.free !== undefined)
    if (isForeign || !(block.view.buffer instanceof ArrayBuffer)) {
      throw new ArgumentError(`segments[${i}] must be memory of JavaScript to move, got mapped or native memory`, {
        hint: 'Copy it to memory that this scope has allocated.',
      })
    }
  })
  if (scope.isHeld()) scope.close() // throws, and names the holders
  const tokens = described.map((segment) => {
    // A part of a slab gets a buffer of its own, which can move.
    expose(segment.block)
    return tokenOf(segment)
  })
  const moved = new Map<ArrayBufferLike, ArrayBuffer>()
  // The address stays the same. The old buffers are detached, so the memory cannot be lent again.
  for (const { buffer } of tokens) if (!moved.has(buffer)) moved.set(buffer, moveBuffer(buffer as ArrayBuffer))
  scope.close()
  return newToken<HandoffToken>({
    tenon: 'confined-scope',
    name: scope.name,
    segments: tokens.map((token) => ({ ...token, buffer: moved.get(token.buffer)! })),
    transfer: [...moved.values()],
  })
}
