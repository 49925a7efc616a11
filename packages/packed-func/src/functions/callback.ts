import { Callback, CONSTANTS } from '@tenon/core/internal'
import { putError, takeError } from '../errors/crossing.ts'
import { nestedTooDeeply, PackedFuncTypeError } from '../errors/error-kinds.ts'
import { isStackOverflow } from '../errors/stack-overflow.ts'
import { drainReleased } from '../native/foreign.ts'
import { OWNED, RAISED, type Pack, type Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { abandonBorrowed, borrowedTensors, endBorrowing } from '../tensors/unpack-tensor.ts'
import type { Value } from '../values/argument.ts'
import { unpackArgument } from '../values/unpack.ts'
import { refuseBorrowed } from '../values/wrappers.ts'

export type Run = (...values: Value[]) => unknown

export interface ThreadRules {
  /** One of `TN_PACKED_THREADS_*`. */
  readonly mode: number
  /** How long callers wait, in milliseconds. */
  readonly timeout: number
}

export const ownThreadOnly: ThreadRules = { mode: CONSTANTS.TN_PACKED_THREADS_REFUSE, timeout: 0 }

/** Leaves a packed function that calls `run` in a slot, with one reference. */
export function makeFunction(
  stack: Stack,
  slot: number,
  run: Run,
  pack: Pack,
  rules: ThreadRules = ownThreadOnly,
): void {
  const callback = new Callback((base, count) => runInFrame(stack, base, count, run, pack))
  try {
    const at = stack.slotAddress(slot)
    if (stack.host.tn_packed_function_create(at, callback.address, rules.mode, rules.timeout) !== 0)
      throw takeError(stack, slot)
  } finally {
    // From now on the native function keeps the callback.
    callback.release()
  }
}

function runInFrame(stack: Stack, base: number, count: number, run: Run, pack: Pack): void {
  const { top, text, depth } = stack
  const undone = stack.undo.length
  stack.top = base + count + 1
  stack.depth = depth + 1
  try {
    runAndPack(stack, base, count, run, pack, undone)
  } finally {
    stack.depth = depth
    stack.top = top
    // If the stack of JavaScript was too full to undo everything, the call around this one does so, and the text is in use.
    if (stack.undo.length === undone) stack.text = text
  }
}

function runAndPack(stack: Stack, base: number, count: number, run: Run, pack: Pack, undone: number): void {
  const borrowed = borrowedTensors.length
  let isOwned = false
  try {
    if (stack.depth > stack.depthLimit) throw nestedTooDeeply(`more than ${stack.depthLimit} deep`)
    isOwned = packResult(stack, base, callWith(stack, base + 1, count, run), undone, pack)
    if (borrowedTensors.length !== borrowed) endBorrowing(borrowed)
  } catch (error) {
    if (isOwned) stack.releaseLater(base)
    isOwned = false
    fail(stack, base, error, undone, borrowed)
  }
  if (stack.undo.length !== undone) stack.settle(undone)
  // Other callbacks, which destructors may have called meanwhile, use the flag too.
  if (isOwned) stack.head[OWNED] = 1
}

function fail(stack: Stack, base: number, error: unknown, undone: number, borrowed: number): void {
  stack.settle(undone)
  drainReleased(stack)
  abandonBorrowed(borrowed)
  putError(stack, base, isStackOverflow(error) ? nestedTooDeeply('too deeply for the stack') : error)
  stack.head[RAISED] = 1
}

function callWith(stack: Stack, first: number, count: number, run: Run): unknown {
  switch (count) {
    case 0:
      return run()
    case 1:
      return run(argumentAt(stack, first))
    case 2:
      return run(argumentAt(stack, first), argumentAt(stack, first + 1))
    case 3:
      return run(argumentAt(stack, first), argumentAt(stack, first + 1), argumentAt(stack, first + 2))
    default:
      return run(...Array.from({ length: count }, (_, i) => argumentAt(stack, first + i)))
  }
}

function argumentAt(stack: Stack, slot: number): Value {
  const at = slot * 4
  const low = stack.i32[at + 2]!
  return stack.i32[at] === TypeIndex.Int && stack.i32[at + 3] === low >> 31 ? low : unpackArgument(stack, slot)
}

/** Packs a result. Returns whether the caller gets the reference of a new object; native code copies other results. */
function packResult(stack: Stack, slot: number, result: unknown, undone: number, pack: Pack): boolean {
  if (typeof result === 'number' && (result | 0) === result && (result !== 0 || 1 / result > 0)) {
    stack.set(slot, TypeIndex.Int, result, result >> 31)
    return false
  }
  if (typeof result === 'object' && result !== null) {
    if (result instanceof Promise) throw asynchronous(result)
    refuseBorrowed(result)
  }
  pack(stack, slot, result)
  if (stack.undo.length === undone) return false
  const created = stack.undo.indexOf(stack.pointer(slot), undone)
  if (created === -1) return false
  stack.undo.splice(created, 1)
  return true
}

function asynchronous(result: Promise<unknown>): PackedFuncTypeError {
  result.catch(() => {})
  return new PackedFuncTypeError(
    'TypeError',
    'asynchronous function used as packed function: declare it with { async: true }, so that other threads wait for it',
  )
}
