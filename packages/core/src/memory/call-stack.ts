import type { Gate, Gated } from './lifetime.ts'

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
