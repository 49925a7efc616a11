import type { Lifetime } from './lifetime.ts'

/** An operand of a call: something that a gate keeps alive. */
export interface Gated {
  readonly gate: Gate
}

/**
 * The state of one lifetime and the count of its users. Entering is the one way to use a lifetime, and fails from the
 * moment closing begins; the lifetime that owns the gate closes it.
 */
export class Gate {
  /** Whether the lifetime can be entered: false from the moment closing begins. */
  open: boolean
  /** Whether what the lifetime owns may be read: stays true while close actions run. */
  alive: boolean
  readonly owner: Lifetime
  private count: number
  /**
   * A function-valued field makes structured clone fail, so posting a segment throws instead of copying its chunk.
   */
  readonly notCloneable: () => void

  constructor(owner: Lifetime) {
    this.open = true
    this.alive = true
    this.owner = owner
    this.count = 0
    this.notCloneable = notCloneable
  }

  /** The number of users that have entered and not left. */
  get holds(): number {
    return this.count
  }

  /** Enters the lifetime if it is open. @returns whether the caller is now a user that must {@link exit}. */
  tryEnter(): boolean {
    if (!this.open) return false
    this.count++
    return true
  }

  /** Enters the lifetime. @throws {ScopeClosedError | WrongThreadError} if it is not open. */
  enter(): void {
    if (!this.open) this.owner.checkOpen()
    this.count++
  }

  /** Adds a user for a caller that has entered already, also while `closeAsync()` waits for it to leave. */
  reenter(): void {
    if (this.count === 0) this.enter()
    else this.count++
  }

  /** Ends what {@link enter} began: exactly once, in a `finally`. */
  exit(): void {
    this.count--
  }
}

function notCloneable(): void {}

/** Enters the lifetimes of all operands, or of none. @throws {ScopeClosedError | WrongThreadError} if one is not open. */
export function enterAll(gated: readonly Gated[]): void {
  let entered = 0
  try {
    for (; entered < gated.length; entered++) gated[entered]!.gate.enter()
  } catch (error) {
    exitAll(gated.slice(0, entered))
    throw error
  }
}

/** Ends what {@link enterAll} began. */
export function exitAll(gated: readonly Gated[]): void {
  for (const { gate } of gated) gate.exit()
}

const NO_OPERANDS: readonly Gated[] = Object.freeze([])

/** The operands of the synchronous native calls in progress on this thread, innermost last. */
const frames: (readonly Gated[])[] = []
let depth = 0

/**
 * Keeps the operands of a synchronous native call open until {@link leaveCall}, for the same price however many there
 * are. The caller has checked that each is open, and does not change the list afterwards:
 *
 *     enterCall(operands)
 *     try {
 *       call()
 *     } finally {
 *       leaveCall()
 *     }
 */
export function enterCall(operands: readonly Gated[]): void {
  frames[depth++] = operands
}

/** Ends what {@link enterCall} began, in a `finally`. */
export function leaveCall(): void {
  frames[--depth] = NO_OPERANDS
}

/** The operands of the innermost synchronous native call in progress, or undefined outside of one. */
export function innermostCall(): readonly Gated[] | undefined {
  return depth === 0 ? undefined : frames[depth - 1]
}

/** The number of synchronous native calls in progress on this thread. */
export function callDepth(): number {
  return depth
}

/** The users of a gate: those that have entered it, and the calls in progress that have it among their operands. */
export function usersOf(gate: Gate): { holds: number; calls: number } {
  let calls = 0
  for (let i = 0; i < depth; i++) {
    if (frames[i]!.some((operand) => operand.gate === gate)) calls++
  }
  return { holds: gate.holds, calls }
}
