import { ArgumentError, ScopeHeldError } from '@tenon/core'
import type { MemorySegment } from '../segment/memory-segment.ts'
import type { ManagedScope } from './managed-scope.ts'
import { describeSegments, type SegmentToken } from './segment-token.ts'

/** A message that moves the memory of a confined scope to another thread: see `ResourceScope.attach()`. */
export interface HandoffToken {
  readonly tenon: 'confined-scope'
  readonly name: string | undefined
  readonly segments: readonly SegmentToken[]
  /** What to list as transferred in `postMessage(token, token.transfer)`: else the memory is copied. */
  readonly transfer: readonly ArrayBuffer[]
}

/**
 * Moves the memory of these segments out of their confined scope, and closes it. In the other thread the same bytes
 * are at
 * the same addresses.
 *
 * @throws {ScopeClosedError} once closing has begun. @throws {ScopeHeldError} if calls, locks or close actions need the
 * scope on this thread. @throws {ArgumentError} if a segment is not of JavaScript's own memory in this scope.
 * @example
 * const token = scope.handoff([segment])
 * worker.postMessage(token, token.transfer)
 */
export function handOff(scope: ManagedScope, segments: readonly MemorySegment[]): HandoffToken {
  scope.checkOpen()
  if (scope.actions !== undefined && scope.actions.length > 0) {
    throw new ScopeHeldError('a scope with close actions can not move to another thread', {
      hint: 'close actions are functions of this thread: open a scope without them for what moves.',
      details: { actions: scope.actions.length },
    })
  }
  const tokens = describeSegments(scope.gate, segments)
  segments.forEach(({ block }, i) => {
    if (scope.owned?.some((owned) => owned.block === block && owned.upkeep.free !== undefined)) {
      throw new ArgumentError(`segments[${i}] must be memory of JavaScript's own to move, it is mapped or native`)
    }
  })
  if (scope.isHeld()) scope.close() // throws, and says who holds it
  const moved = new Map<ArrayBufferLike, ArrayBuffer>()
  for (const { block } of segments) {
    const buffer = block.view.buffer as ArrayBuffer
    // The memory stays where it is; the old buffer is dead, so the chunk can't be lent again.
    if (!moved.has(buffer)) moved.set(buffer, buffer.transfer())
    block.exposed = true
  }
  scope.close()
  return {
    tenon: 'confined-scope',
    name: scope.name,
    segments: tokens.map((token) => ({ ...token, buffer: moved.get(token.buffer)! })),
    transfer: [...moved.values()],
  }
}
