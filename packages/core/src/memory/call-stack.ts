import type { Gate, Gated } from './lifetime.ts'

const NO_OPERANDS: readonly Gated[] = Object.freeze([])

/** The operands of the synchronous native calls in progress on this thread, innermost last. */
const frames: (readonly Gated[])[] = []
let depth = 0

/** Keeps open operands open until {@link leaveCall}. The caller does not change the list meanwhile. */
export function enterCall(operands: readonly Gated[]): void {
  frames[depth++] = operands
}

export function leaveCall(): void {
  frames[--depth] = NO_OPERANDS
}

export function innermostCall(): readonly Gated[] | undefined {
  return depth === 0 ? undefined : frames[depth - 1]
}

export function callDepth(): number {
  return depth
}

export function usersOf(gate: Gate): { holds: number; calls: number } {
  let calls = 0
  for (let i = 0; i < depth; i++) {
    if (frames[i]!.some((operand) => operand.gate === gate)) calls++
  }
  return { holds: gate.holds, calls }
}
