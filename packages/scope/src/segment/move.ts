import { ArgumentError, ScopeHeldError, type Segment } from '@tenon/core'
import { Block, checkUsable, expose, isPointer, moveBuffer, usersOf } from '@tenon/core/internal'
import { checkScope, isScope, type ResourceScope } from '../scope/check-scope.ts'
import { chunkIn, type Upkeep } from '../scope/chunk.ts'
import { ImplicitScope } from '../scope/gc-scopes.ts'
import { ManagedScope, type OwnedBlock } from '../scope/managed-scope.ts'
import { isUserBlock } from './foreign-memory.ts'
import { isMappedBlock, moveMapping } from './mapped-file.ts'

/**
 * Gives the allocation of a segment to another scope: the work of `MemorySegment.moveTo()`.
 *
 * @returns the block of the allocation in the other scope.
 * @throws {ArgumentError | ScopeClosedError | ScopeHeldError} before anything has changed.
 */
export function moveBlock({ block }: Segment, scope: ResourceScope): Block {
  const target = checkScope(scope)
  checkUsable(block)
  const { owner } = block.gate
  if (owner === target) return block
  if (!isScope(owner)) throw immovable('memory of another lifetime')
  owner.checkOpen()
  checkUnused(owner)
  const owned = owner instanceof ManagedScope ? owner.owned?.findLast((one) => one.block === block) : undefined
  const moved = isMappedBlock(block) ? moveMapping(block, target) : moveMemory(block, owned, owner, target)
  if (owned !== undefined) (owner as ManagedScope).disown(owned)
  block.abandon()
  return moved
}

/** @throws {ScopeHeldError} if calls, holds or other threads use the memory of a scope. */
function checkUnused(owner: ResourceScope): void {
  if (owner instanceof ManagedScope) {
    if (owner.isHeld()) throw owner.heldError()
    return
  }
  const { holds, calls } = usersOf(owner.gate)
  if (holds + calls === 0) return
  throw new ScopeHeldError('the memory cannot move, because calls or holds use it', {
    hint: 'Move it after the calls have returned and the holds are released.',
    details: { holds, calls },
  })
}

function moveMemory(block: Block, owned: OwnedBlock | undefined, owner: ResourceScope, target: ResourceScope): Block {
  const isCollected = owner instanceof ImplicitScope && !isPointer(block) && !isUserBlock(block)
  if (!isCollected && (owned === undefined || owned.isOfArena || owned.size === 0))
    throw immovable(kindOf(block, owned))
  const { check, free, retire }: Upkeep = owned?.upkeep ?? {}
  if (block.exposed && free !== undefined) throw immovable('guarded memory of which a view was handed out')
  const moved = block.exposed ? withoutViews(block, target) : block.withGate(target.gate)
  const upkeep: Upkeep = { ...(check && { check }), ...(free && { free }), ...(retire && { retire }) }
  if (target instanceof ManagedScope) return target.own(moved, owned?.size ?? moved.bytes.length, upkeep)
  if (free !== undefined) target.addLastAction(free)
  return target.own(moved)
}

/** The memory of a block of which the user has raw views, which are detached unless the memory is shared. */
function withoutViews({ view, address }: Block, target: ResourceScope): Block {
  const { buffer, byteOffset, byteLength } = view
  if (buffer instanceof SharedArrayBuffer) {
    const shared = chunkIn(buffer, byteOffset, byteLength, address)
    const block = new Block(target.gate, shared.view, shared.bytes, address)
    // The views belong to the other scope from now on.
    expose(block)
    return block
  }
  let moved: ArrayBuffer
  try {
    moved = moveBuffer(buffer)
  } catch (cause) {
    throw new ArgumentError('the segment must have a buffer that can be transferred', { cause })
  }
  const chunk = chunkIn(moved, byteOffset, byteLength, address)
  return new Block(target.gate, chunk.view, chunk.bytes, address)
}

function kindOf(block: Block, owned: OwnedBlock | undefined): string {
  if (isPointer(block) || owned?.size === 0) return 'memory of native code'
  if (isUserBlock(block)) return 'memory of a JavaScript buffer'
  return block.gate.owner instanceof ManagedScope ? 'a part of an arena' : 'memory that is never freed'
}

function immovable(received: string): ArgumentError {
  return new ArgumentError(
    `the segment must be an allocation of its own, a mapped file or a message, got ${received}`,
    {
      hint: 'Allocate it with MemorySegment.allocateNative(), or copy it into the other scope.',
      details: { received },
    },
  )
}
