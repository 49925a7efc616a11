import type { Gate, Gated } from './lifetime.ts'

/**
 * The calls of this thread that are in progress and have their operands in a list. The gates of libraries, and of the memory of
 * calls without such a list, count their calls themselves.
 */
interface CallStack {
  /**
   * Keeps open operands open until {@link leaveCall}. The caller does not change the list meanwhile.
   *
   * @returns the place of the call, for {@link leaveCall}.
   */
  enterCall(operands: readonly Gated[]): number
  /**
   * Leaves the call at a place, by default the innermost one, and all calls inside it. Those have ended without leaving if the
   * stack overflowed, because `finally` could not call this function then.
   */
  leaveCall(place?: number): void
  /** Returns the list of the innermost call that has one. */
  innermostCall(): readonly Gated[] | undefined
  usersOf(gate: Gate): { holds: number; calls: number }
}

/**
 * The lists of calls in progress. A call that must not call {@link leaveCall}, because the stack of JavaScript may be full, stores
 * its list at the depth, which it increases. Later it stores its place as the depth, and clears its list.
 */
export const callsInProgress: { depth: number; readonly lists: (readonly Gated[] | undefined)[] } = {
  depth: 0,
  /** The innermost call is last. Places beyond the depth are used again, because the engine records each growth. */
  lists: [undefined],
}

/**
 * The holds of native code on this thread. Those that it has released count as users of their gates until one of the `takers` has taken them:
 * each kind of hold has a function that does so.
 */
export const nativeHolds: { count: number; readonly takers: Set<() => void> } = { count: 0, takers: new Set() }

/** Takes what native code has released, before a close is refused because of it. */
export function takeReleasedHolds(): void {
  if (nativeHolds.count !== 0) for (const take of nativeHolds.takers) take()
}

/** A function, for the reason that `makeSteps()` of the calls has. */
function makeCallStack(): CallStack {
  const calls = callsInProgress
  const { lists } = calls

  return {
    enterCall: (operands) => {
      lists[calls.depth] = operands
      return calls.depth++
    },
    leaveCall: (place = calls.depth - 1) => {
      while (calls.depth > place) lists[--calls.depth] = undefined
    },
    innermostCall: () => (calls.depth === 0 ? undefined : lists[calls.depth - 1]),
    usersOf: (gate) => {
      if (gate.holds !== 0) takeReleasedHolds()
      const withList = lists
        .slice(0, calls.depth)
        .filter((list) => list!.some((operand) => operand.gate === gate)).length
      return { holds: gate.holds, calls: gate.calls + withList }
    },
  }
}

const callStack = makeCallStack()
export const enterCall: CallStack['enterCall'] = callStack.enterCall
export const leaveCall: CallStack['leaveCall'] = callStack.leaveCall
export const innermostCall: CallStack['innermostCall'] = callStack.innermostCall
export const usersOf: CallStack['usersOf'] = callStack.usersOf
