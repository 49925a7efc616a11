import { wrongType } from '@tenon/core/internal'
import { openStack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import type { Argument } from '../values/argument.ts'
import { pack } from '../values/pack.ts'
import { makeFunction, Threads, type Run } from './callback.ts'
import { PackedFunc } from './packed-func.ts'
import { answerLater, openRelay, threadsOf, type PackedFuncOptions } from './relay.ts'

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
 * @throws {RuntimeError} if the system cannot relay calls from other threads; Windows cannot.
 * @example
 * const twice = packedFunc((x: number) => 2 * x)
 * twice.call(21) // 42
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
    if (rules.mode !== Threads.Refused) openRelay(stack)
    makeFunction(stack, slot, rules.mode === Threads.Async ? answerLater(stack, target) : target, pack, rules)
    return new PackedFunc(TypeIndex.Function, stack.pointer(slot))
  })
}
