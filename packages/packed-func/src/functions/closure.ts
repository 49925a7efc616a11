import { checkOptions, CONSTANTS, wrongType, wrongValue } from '@tenon/core/internal'
import { openStack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import type { Argument } from '../values/argument.ts'
import { pack } from '../values/pack.ts'
import { makeFunction, ownThreadOnly, type Run, type ThreadRules } from './callback.ts'
import { PackedFunc } from './packed-func.ts'
import { answerLater } from './relay.ts'

/** How a TypeScript function takes calls: see `packedFunc`. */
export interface PackedFuncOptions {
  /**
   * Makes calls from other threads wait until the event loop of this thread runs the function. Such a call fails with kind
   * `ThreadError` if this thread ends, if the function does not start within `timeout` ms (default 10,000), or if this thread
   * stays in one native call for 0.1 s, because that call may be waiting for the caller. A call that has started is always
   * waited for. Waiting calls do not keep the process alive.
   */
  readonly relay?: boolean | { readonly timeout?: number }
  /**
   * Lets the function return a promise: callers on other threads wait until it settles, as with `relay`. Calls from its own
   * thread fail with kind `TypeError`, because they would wait for themselves.
   */
  readonly async?: boolean
}

/**
 * Makes a packed function of a TypeScript function. Native code can call it, keep it and return it. It lives until its last
 * reference is released; a function that keeps a native object which keeps the function is never collected.
 *
 * Arguments are copies or references that the function may keep, except borrowed tensors (`DLTensor*`), which are closed when
 * the call ends. An error that the function throws reaches the caller as an error of the same kind and text.
 *
 * The function runs only on the thread that made it. A call from another thread fails at once with kind `ThreadError`, or waits
 * until the event loop of this thread runs the function: see {@link PackedFuncOptions}.
 *
 * @throws {ArgumentError} if `run` is not a function, or an option is not valid.
 * @example
 * const twice = packedFunc((x: number) => 2 * x)
 * twice(21) // 42
 */
export function packedFunc(
  run: (...values: never[]) => Argument | void | Promise<Argument | void>,
  options?: PackedFuncOptions,
): PackedFunc {
  if (typeof run !== 'function') throw wrongType('run', 'a function', run)
  const rules = threadsOf(options)
  const stack = openStack()
  const target = run as Run
  return stack.frame(0, (slot) => {
    makeFunction(
      stack,
      slot,
      rules.mode === CONSTANTS.TN_PACKED_THREADS_ASYNC ? answerLater(stack, target) : target,
      pack,
      rules,
    )
    return new PackedFunc(TypeIndex.Function, stack.pointer(slot), String(run.name))
  })
}

/** @throws {ArgumentError} if an option is not valid. */
function threadsOf(options: PackedFuncOptions | undefined): ThreadRules {
  const { relay = false, async = false } = checkOptions(options, ['relay', 'async'])
  if (typeof async !== 'boolean') throw wrongType('async', 'a boolean', async)
  if (typeof relay !== 'boolean' && (typeof relay !== 'object' || relay === null))
    throw wrongType('relay', 'a boolean or an object', relay)
  if (relay === false && !async) return ownThreadOnly
  const { timeout = 10_000 } = typeof relay === 'object' ? checkOptions(relay, ['timeout'], 'relay') : {}
  if (!Number.isInteger(timeout) || timeout < 1 || timeout > 0x7fff_ffff)
    throw wrongValue('timeout', 'a whole number of milliseconds below 2^31', timeout)
  return { mode: async ? CONSTANTS.TN_PACKED_THREADS_ASYNC : CONSTANTS.TN_PACKED_THREADS_RELAY, timeout }
}
