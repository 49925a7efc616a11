import type { Lifetime } from './lifetime.ts'

/** What has a gate: operands of calls. */
export interface Gated {
  readonly gate: Gate
}

/**
 * The door of one lifetime: whether it is alive, and how many users hold it open. Hot paths read `alive` and count
 * `holds` directly; the lifetime that owns the gate closes it.
 */
export class Gate {
  alive: boolean
  holds: number
  readonly owner: Lifetime
  /**
   * What has a function can't be cloned: messages to other threads refuse segments, and don't copy their whole chunk.
   */
  readonly stays: () => void

  constructor(owner: Lifetime) {
    this.alive = true
    this.holds = 0
    this.owner = owner
    this.stays = stays
  }

  /** Holds the lifetime open for a call. @throws {ScopeClosedError | WrongThreadError} if it is not alive. */
  enter(): void {
    if (!this.alive) this.owner.checkAlive()
    this.holds++
  }

  /** Ends what {@link enter} began: exactly once, in a `finally`. */
  exit(): void {
    this.holds--
  }
}

/** What is confined to a thread. */
function stays(): void {}

/**
 * The operands of the synchronous native calls in progress on this thread, innermost last. A call with several operands
 * pushes its frozen list instead of counting on each gate, and pops it in a `finally`:
 *
 *     callStack.frames[callStack.depth++] = operands
 *     try { call() } finally { callStack.frames[--callStack.depth] = NO_OPERANDS }
 */
export const callStack: { depth: number; readonly frames: (readonly Gated[])[] } = { depth: 0, frames: [] }

/** What stands in a free place of {@link callStack}. */
export const NO_OPERANDS: readonly Gated[] = Object.freeze([])

/** How many users hold a gate: holds counted on it, and calls in progress that have it among their operands. */
export function holdersOf(gate: Gate): { holds: number; calls: number } {
  let calls = 0
  for (let i = 0; i < callStack.depth; i++) {
    if (callStack.frames[i]!.some((operand) => operand.gate === gate)) calls++
  }
  return { holds: gate.holds, calls }
}
