import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout } from 'node:timers'
import { type Block, callsInProgress } from '@tenon/core/internal'
import { printAs } from '../print-as.ts'
import { counters } from '../diagnostics/stats.ts'
import { isInstrumented } from '../diagnostics/debug.ts'
import { noteClose } from '../diagnostics/observe.ts'
import type { MemorySegment } from '../segment/memory-segment.ts'
import { ArenaScope, type Loan, NOTHING } from './arena-scope.ts'
import { giveChunk, takeChunk, takePooled, trimChunks } from './chunk-pool.ts'
import { type Chunk, retire } from './chunk.ts'
import { handOff, type HandoffToken } from './handoff.ts'
import type { ScopeOptions } from './managed-scope.ts'
import { giveSlot, Slot, takeSlot, trimSlots } from './slot.ts'
import { SharedScope } from './shared-scope.ts'

/** The time after which unused memory is given back, in milliseconds: at least once, and less than twice. */
const IDLE = 1000

/** Runs a function outside of the request that a server works on, whose storage the timer would otherwise keep alive. */
const outside = AsyncLocalStorage.snapshot()

let isWatching = false
let isUsed = false

/** Gives the memory that later arenas could borrow back to the system once none has been closed for a while. */
function trimWhenIdle(): void {
  isUsed = true
  if (isWatching) return
  isWatching = true
  outside(watch)
}

function watch(): void {
  isUsed = false
  const timer = setTimeout(() => {
    if (isUsed) return watch()
    isWatching = false
    trimChunks()
    trimSlots()
  }, IDLE)
  timer.unref()
}

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
    const hasUsers = gate.holds !== 0 || gate.calls !== 0 || callsInProgress.depth !== 0
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

/** A scope that is also an allocator. */
export type NativeScope = ConfinedNativeScope | SharedScope

/** The functions of {@link NativeScope}. */
export interface NativeScopes {
  /**
   * Opens an arena for this thread. It begins with 512 bytes, or with about the size of a larger first allocation, and goes on
   * with chunks of 4 KiB to 1 MiB. close() frees them together.
   *
   * @example
   * const scope = NativeScope.ofConfined()
   * const numbers = scope.allocate(1024, 64)
   * scope.close()
   */
  ofConfined(options?: ScopeOptions): ConfinedNativeScope
  /** Opens an arena over shared memory. */
  ofShared(options?: ScopeOptions): SharedScope
  [Symbol.hasInstance](value: unknown): boolean
}

/**
 * Opens scopes that are also allocators. Their memory is zeroed, and freed when they are closed.
 *
 * | scope          | closed by                    | memory                                   | usable in                  |
 * | -------------- | ---------------------------- | ---------------------------------------- | -------------------------- |
 * | `ofConfined()` | `close()`                    | 512 bytes, then chunks of 4 KiB to 1 MiB | the thread that opened it  |
 * | `ofShared()`   | `close()` of the last handle | shared memory                            | every thread that attaches |
 */
export const NativeScope: NativeScopes = printAs<NativeScopes>('NativeScope', {
  ofConfined: (options) => new ConfinedNativeScope(options),
  ofShared: (options) => SharedScope.open(options),
  [Symbol.hasInstance]: (value) => value instanceof ArenaScope,
})
