import type { Block } from '@tenon/core/internal'
import type { MemorySegment } from '../segment/memory-segment.ts'
import { ArenaScope } from './arena-scope.ts'
import { giveChunk, takeChunk } from './chunk-pool.ts'
import { type Chunk, detach } from './chunk.ts'
import { handOff, type HandoffToken } from './handoff.ts'

/** A confined scope that is an allocator as well. Made by `NativeScope.ofConfined()`. */
export class ConfinedNativeScope extends ArenaScope {
  override get kind(): 'confined' {
    return 'confined'
  }

  /** Moves the scope's memory to another thread, where `ResourceScope.attach()` opens it again: see {@link handOff}. */
  handoff(segments: readonly MemorySegment[]): HandoffToken {
    return handOff(this, segments)
  }

  override takeChunk(byteSize: number): Chunk {
    return takeChunk(byteSize)
  }

  override retire(chunk: Chunk, block: Block, used: number): void {
    if (block.exposed) detach(chunk.view)
    else giveChunk(chunk, used)
  }
}
