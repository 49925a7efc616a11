import { handOff, type HandoffToken } from './handoff.ts'
import { ManagedScope } from './managed-scope.ts'
import type { MemorySegment } from '../segment/memory-segment.ts'

/** A scope that belongs to the thread that opened it. Opened by `ResourceScope.ofConfined()`. */
export class ConfinedScope extends ManagedScope {
  override get kind(): 'confined' {
    return 'confined'
  }

  /** Moves the scope's memory to another thread, where `ResourceScope.attach()` opens it again. */
  handoff(segments: readonly MemorySegment[]): HandoffToken {
    return handOff(this, segments)
  }
}
