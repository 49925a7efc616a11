import { addressOf, bufferOver, checkStatus, coreFunction } from '@tenon/core/internal'

/**
 * Where the core finds the call that this thread means: its address as the bits of a float64. To write it costs nothing, where a
 * parameter is a sixth of a native call.
 */
export const current: { call: Float64Array } = { call: new Float64Array(1) }

/** What runs the call that {@link current} names. */
export interface CurrentFunctions {
  readonly execute: () => unknown
  readonly executeUntyped: () => unknown
}

/** Declares them, and gives the core the place to look at. Once, before they are called. */
export function currentFunctions(): CurrentFunctions {
  const out = new BigUint64Array(1)
  checkStatus(Number(coreFunction('tn_xla_open_current', 'int32_t', ['uintptr_t'])(addressOf(out))), 'preparing calls')
  try {
    current.call = new Float64Array(bufferOver(Number(out[0]), 8))
  } catch {
    return functionsByAddress()
  }
  return {
    execute: coreFunction('tn_xla_execute_current', 'int32_t', []),
    executeUntyped: coreFunction('tn_xla_execute_untyped_current', 'int32_t', []),
  }
}

/** For engines that can't look at native memory: the address is passed on. */
function functionsByAddress(): CurrentFunctions {
  const bits = new BigUint64Array(current.call.buffer)
  const execute = coreFunction('tn_xla_execute', 'int32_t', ['uintptr_t'])
  const executeUntyped = coreFunction('tn_xla_execute_untyped', 'int32_t', ['uintptr_t'])
  return { execute: () => execute(Number(bits[0])), executeUntyped: () => executeUntyped(Number(bits[0])) }
}
