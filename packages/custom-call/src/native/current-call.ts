import { addressOf, bufferOver, checkStatus, coreFunctions } from '@tenon/core/internal'
import type { CallMemory } from './call-memory.ts'

/**
 * The memory in which the core finds the address of the call to run on this thread, as two words. A parameter would cost a
 * sixth of a native call.
 */
let current = new Int32Array(2)

/** Selects the call that the next of the {@link currentFunctions} runs. */
export function selectCall({ lo, hi }: CallMemory): void {
  current[0] = lo
  current[1] = hi
}

interface CurrentFunctions {
  readonly execute: () => number
  readonly executeUntyped: () => number
}

let functions: CurrentFunctions | undefined

/** Returns the functions, and at first use asks the core for the memory of the selected call. */
export function currentFunctions(): CurrentFunctions {
  return (functions ??= openCurrent())
}

function openCurrent(): CurrentFunctions {
  const core = coreFunctions()
  const out = new BigUint64Array(1)
  checkStatus(core.tn_xla_open_current(addressOf(out)), 'preparing calls')
  try {
    current = new Int32Array(bufferOver(Number(out[0]), 8))
  } catch {
    // An engine without buffers over native memory passes the address with each call.
    const bits = new BigUint64Array(current.buffer)
    return {
      execute: () => core.tn_xla_execute(Number(bits[0])),
      executeUntyped: () => core.tn_xla_execute_untyped(Number(bits[0])),
    }
  }
  return { execute: core.tn_xla_execute_current, executeUntyped: core.tn_xla_execute_untyped_current }
}
