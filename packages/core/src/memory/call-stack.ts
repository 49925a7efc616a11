import type { Gate, Gated } from './lifetime.ts'

const NO_OPERANDS: readonly Gated[] = Object.freeze([])

/**
 * A synchronous native call in progress, with its operands in a list or in fields. The objects are used again and again,
 * because the engine records each store of a new object into an old one. A store of `undefined` costs nearly nothing.
 */
interface Call {
  list: readonly Gated[] | undefined
  library: Gated | undefined
  first: Gated | undefined
  second: Gated | undefined
  third: Gated | undefined
  fourth: Gated | undefined
}

const newCall = (): Call => ({
  list: undefined,
  library: undefined,
  first: undefined,
  second: undefined,
  third: undefined,
  fourth: undefined,
})

/** The calls of this thread that are in progress. Those without operands are counted by the gates of their libraries. */
interface CallStack {
  /** Keeps open operands open until {@link leaveCall}. The caller does not change the list meanwhile. */
  enterCall(operands: readonly Gated[]): void
  /** As {@link enterCall}, without a list. */
  enterCallOf(library: Gated, first: Gated, second?: Gated, third?: Gated, fourth?: Gated): void
  leaveCall(): void
  /** Returns the list of the innermost call, which is empty if its operands are not in a list. */
  innermostCall(): readonly Gated[] | undefined
  callDepth(): number
  usersOf(gate: Gate): { holds: number; calls: number }
}

/** A function, for the reason that `makeSteps()` of the calls has. */
function makeCallStack(): CallStack {
  /** The calls in progress, innermost last, and objects for further calls. */
  const calls = [newCall()]
  let depth = 0

  const next = (): Call => {
    const call = calls[depth++]!
    if (depth === calls.length) calls.push(newCall())
    return call
  }

  const uses = ({ list, library, first, second, third, fourth }: Call, gate: Gate): boolean =>
    [library, first, second, third, fourth, ...(list ?? NO_OPERANDS)].some((operand) => operand?.gate === gate)

  return {
    enterCall: (operands) => {
      next().list = operands
    },
    enterCallOf: (library, first, second, third, fourth) => {
      const call = next()
      call.library = library
      call.first = first
      call.second = second
      call.third = third
      call.fourth = fourth
    },
    leaveCall: () => {
      const call = calls[--depth]!
      call.list = undefined
      call.library = undefined
      call.first = undefined
      call.second = undefined
      call.third = undefined
      call.fourth = undefined
    },
    innermostCall: () => (depth === 0 ? undefined : (calls[depth - 1]!.list ?? NO_OPERANDS)),
    callDepth: () => depth,
    usersOf: (gate) => {
      const withOperands = calls.slice(0, depth).filter((call) => uses(call, gate)).length
      return { holds: gate.holds, calls: gate.calls + withOperands }
    },
  }
}

export const callStack: CallStack = makeCallStack()
export const enterCall: CallStack['enterCall'] = callStack.enterCall
export const leaveCall: CallStack['leaveCall'] = callStack.leaveCall
export const innermostCall: CallStack['innermostCall'] = callStack.innermostCall
export const callDepth: CallStack['callDepth'] = callStack.callDepth
export const usersOf: CallStack['usersOf'] = callStack.usersOf
