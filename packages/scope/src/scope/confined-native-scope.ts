import { type Block, callDepth } from '@tenon/core/internal'
import { counters } from '../diagnostics/stats.ts'
import { isInstrumented } from '../diagnostics/debug.ts'
import { noteClose } from '../diagnostics/observe.ts'
import type { MemorySegment } from '../segment/memory-segment.ts'
import { ArenaScope, type Loan, NOTHING } from './arena-scope.ts'
import { giveChunk, takeChunk, takePooled } from './chunk-pool.ts'
import { type Chunk, retire } from './chunk.ts'
import { handOff, type HandoffToken } from './handoff.ts'
import { trimWhenIdle } from './idle.ts'
import type { ScopeOptions } from './managed-scope.ts'
import { giveSlot, Slot, takeSlot } from './slot.ts'

/** A confined scope that is also an allocator. Opened by `NativeScope.ofConfined()`. */
export class ConfinedNativeScope extends ArenaScope {
  /** @internal */
  constructor(options: ScopeOptions | undefined) {
    super(options)
    if (isInstrumented) return
    // Nearly all arenas allocate. Taking memory now makes the first allocation as fast as the others.
    const chunk = takePooled()
    const slot = chunk === undefined ? takeSlot() : undefined
    if (slot !== undefined) this.borrow(slot, slot.blockFor(this.gate))
    else if (chunk !== undefined) this.useChunk(chunk)
  }

  override get kind(): 'confined' {
    return 'confined'
  }

  /** Moves the scope's memory to another thread, where `ResourceScope.attach()` opens it again. */
  handoff(segments: readonly MemorySegment[]): HandoffToken {
    return handOff(this, segments)
  }

  /** Closes the scope: see `ManagedLifetime`. The short form below serves arenas that used one chunk, as most do. */
  override close(): void {
    const { gate, chunk, block } = this
    const isPlain = this.actions === undefined && this.owned === undefined && this.full === undefined
    const hasUsers = gate.holds !== 0 || gate.calls !== 0 || callDepth() !== 0
    if (!gate.open || !isPlain || hasUsers || chunk === undefined) return super.close()
    gate.open = false
    gate.alive = false
    this.limit = NOTHING
    this.chunk = undefined
    this.block = undefined
    counters.openScopes--
    counters.liveBytes -= chunk.size
    noteClose(this)
    this.retire(chunk, block!, this.offset)
  }

  override takeChunk(byteSize: number): Chunk {
    return takeChunk(byteSize)
  }

  override retire(chunk: Loan, block: Block, used: number): void {
    if (chunk instanceof Slot) giveSlot(chunk, block, used)
    else if (block.exposed) retire(chunk.view)
    else giveChunk(chunk, used)
    trimWhenIdle()
  }
}
