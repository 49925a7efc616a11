import { CONSTANTS, coreFunctionAddress, threadDriver, guardMode, takeThrown, WORDS, words } from '@tenon/core/internal'
import type { CallMemory } from './call-memory.ts'
import { enterCore } from './enter-core.ts'
import { guardedRun } from './guarded-run.ts'

/** Runs a call of a kind, one of the constants `TN_XLA_JOB_*`, on this thread. @throws what an upcall stub has thrown meanwhile */
export type RunCall = (kind: number, memory: CallMemory) => number

let made: RunCall | undefined

/** Returns the function that runs calls. All calls share one, so that the compiler knows what it calls. */
export function callRunner(): RunCall {
  return (made ??= guardMode ? guardedRun(makeRunCall()) : makeRunCall())
}

/**
 * Constants of a function are part of compiled code. The bundler turns those of a module into variables.
 *
 * The entries take no parameter, which would cost a sixth of a native call, but find the address of the call in the frame. Each
 * has its own place among the entries of the driver. They are called by name, because the compiler calls a native function
 * directly only if it is always the same one.
 */
function makeRunCall(): RunCall {
  const { entry } = threadDriver()
  const frame = words
  const [call, statusWord, state] = [WORDS.general, WORDS.errno, WORDS.state]
  const { TN_XLA_JOB_TYPED: TYPED, TN_XLA_JOB_UNTYPED: UNTYPED } = CONSTANTS
  const runTyped = entry(0, coreFunctionAddress('tn_xla_execute_current'))
  const runUntyped = entry(1, coreFunctionAddress('tn_xla_execute_untyped_current'))
  const runBatch = entry(2, coreFunctionAddress('tn_xla_execute_batch_current'))
  return (kind, { lo, hi }) => {
    // Every call overwrites the frame, so nothing may run between these stores and the loads.
    frame[call] = lo
    frame[call + 1] = hi
    if (kind === TYPED) runTyped()
    else if (kind === UNTYPED) runUntyped()
    else runBatch()
    const status = frame[statusWord]!
    const how = frame[state]!
    return how === 0 ? status : endThrown(how, status, kind, (lo >>> 0) + hi * 2 ** 32)
  }
}

/**
 * Ends a run during which a function of TypeScript or the kernel threw. The entries run kernels without the guard, so after a
 * C++ exception native code does here what is left of the run.
 *
 * @returns the status of a run that a C++ exception has ended. @throws what an upcall stub has thrown
 */
function endThrown(how: number, status: number, kind: number, address: number): number {
  const { TN_CALL_THROWN: THROWN, TN_CALL_CAUGHT: CAUGHT } = CONSTANTS
  const ended = how === THROWN ? status : enterCore('tn_xla_end_exception', address, kind, status >>> 0)
  if (how !== CAUGHT) throw takeThrown()
  return ended
}
