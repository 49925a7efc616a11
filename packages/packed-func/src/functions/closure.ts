import { ArgumentError } from '@tenon/core'
import { Callback, describe } from '@tenon/core/internal'
import { putError, takeError } from '../errors/crossing.ts'
import { RecursionError } from '../errors/kind-classes.ts'
import { PackedFuncTypeError } from '../errors/packed-func-error.ts'
import { drainReleased } from '../native/foreign.ts'
import { DEPTH_LIMIT, openStack, type Stack } from '../native/stack.ts'
import { INT_TAG, TypeIndex } from '../native/type-index.ts'
import { pack } from '../values/pack.ts'
import { unpackArgument } from '../values/unpack.ts'
import { refuseLent } from '../values/refuse-lent.ts'
import { abandonBorrowed, borrowedTensors, endBorrowing } from '../tensors/unpack-tensor.ts'
import type { Argument, PackedCallback, Value } from '../values/argument.ts'
import { PackedFunc } from './packed-func.ts'
import {
  answerLater,
  openRelay,
  ownThreadOnly,
  Threads,
  threadsOf,
  type PackedFuncOptions,
  type ThreadRules,
} from './relay.ts'

/**
 * Makes a packed function out of a function of TypeScript. Native code can call it, keep it and give it back; it lives
 * until the last reference is gone.
 *
 * Arguments are copies or references of their own, except tensors that are only lent (`DLTensor*`): those end with the
 * call. What the function throws reaches its caller as an error of the same kind and text.
 *
 * Only the thread that made it runs it. A call from another thread fails with kind `ThreadError` at once, unless `options.relay`
 * says that such callers wait until the thread's event loop has run it. They never wait for ever: see {@link PackedFuncOptions}.
 *
 * A function that keeps a native object which keeps the function is never collected.
 *
 * @throws {ArgumentError} if it is no function, or an option is not valid. @throws {RuntimeError} if calls from other threads
 * can't be relayed here, as on Windows.
 * @example
 * const twice = packedFunc((x: number) => 2 * x)
 * twice.call(21) // 42
 */
export function packedFunc(
  run: (...values: never[]) => Argument | void | Promise<Argument | void>,
  options: PackedFuncOptions = {},
): PackedFunc {
  if (typeof run !== 'function') throw new ArgumentError(`run must be a function, got ${describe(run)}`)
  const threads = threadsOf(options)
  const stack = openStack()
  const slot = stack.top
  stack.enter(0)
  try {
    if (threads.mode !== Threads.Refused) openRelay(stack)
    makeFunction(stack, slot, run, threads)
    return new PackedFunc(stack.pointer(slot))
  } finally {
    stack.leave(slot, stack.text)
  }
}

/** Packs a function of TypeScript as an argument: it lives as long as native code keeps it. */
export function packCallback(stack: Stack, slot: number, run: PackedCallback): void {
  makeFunction(stack, slot, run, ownThreadOnly)
  stack.undo.push(slot)
}

/** Leaves a packed function in a slot, with one reference. */
function makeFunction(stack: Stack, slot: number, run: PackedCallback, { mode, timeout }: ThreadRules): void {
  const target = run as (...values: Value[]) => unknown
  const started = mode === Threads.Async ? answerLater(stack, target) : target
  const callback = new Callback((base, count) => runInFrame(stack, base, count, started))
  try {
    const status = stack.host.createFunction(stack.slotAddress(slot), callback.address, mode, timeout)
    if (status !== 0) throw takeError(stack, slot)
  } finally {
    // The native function keeps it from now on.
    callback.release()
  }
}

/** Runs a function whose arguments lie in the slots after `base`, and leaves its result, or its error, in `base`. */
function runInFrame(stack: Stack, base: number, count: number, run: (...values: Value[]) => unknown): void {
  const { top, text } = stack
  const undone = stack.undo.length
  const borrowed = borrowedTensors.length
  stack.top = base + count + 1
  stack.depth++
  try {
    if (stack.depth > DEPTH_LIMIT) throw tooDeep()
    packResult(stack, base, callWith(stack, base + 1, count, run), undone)
    if (borrowedTensors.length !== borrowed) endBorrowing(borrowed)
  } catch (error) {
    fail(stack, base, error, { undone, borrowed })
  }
  if (stack.undo.length !== undone) stack.settle(undone)
  stack.depth--
  stack.top = top
  stack.text = text
}

/** Leaves what a function threw in its result's slot. */
function fail(
  stack: Stack,
  base: number,
  error: unknown,
  { undone, borrowed }: { undone: number; borrowed: number },
): void {
  // A result that was made already may hold a tensor that was only lent.
  if (stack.head[2] === 1) stack.host.clear(stack.slotAddress(base))
  stack.head[2] = 0
  stack.settle(undone)
  drainReleased(stack)
  abandonBorrowed(borrowed)
  putError(stack, base, error)
  stack.head[1] = 1
}

function tooDeep(): RecursionError {
  const limit = `nested more than ${DEPTH_LIMIT} deep`
  return new RecursionError(`calls between JavaScript and native code are ${limit}`)
}

/** Calls a function with the arguments from a slot on: few of them without an array. */
function callWith(stack: Stack, first: number, count: number, run: (...values: Value[]) => unknown): unknown {
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

/** An argument: small whole numbers in line. */
function argumentAt(stack: Stack, slot: number): Value {
  const at = slot * 4
  const low = stack.i32[at + 2]!
  return stack.i32[at] === TypeIndex.Int && stack.i32[at + 3] === low >> 31 ? low : unpackArgument(stack, slot)
}

/** Packs a result. One that was made for it is native code's from then on; others are copied there. */
function packResult(stack: Stack, slot: number, result: unknown, undone: number): void {
  if (typeof result === 'number' && (result | 0) === result && (result !== 0 || 1 / result > 0)) {
    const at = slot * 4
    stack.f64[slot * 2] = INT_TAG
    stack.i32[at + 2] = result
    stack.i32[at + 3] = result >> 31
    return
  }
  if (typeof result === 'object' && result !== null) {
    if (result instanceof Promise) throw asynchronous(result)
    refuseLent(result)
  }
  pack(stack, slot, result)
  if (stack.undo.length === undone) return
  const made = stack.undo.indexOf(slot, undone)
  if (made === -1) return
  stack.undo.splice(made, 1)
  stack.head[2] = 1
}

function asynchronous(result: Promise<unknown>): PackedFuncTypeError {
  result.catch(() => {})
  return new PackedFuncTypeError(
    'TypeError',
    'asynchronous function used as packed function: declare it with { async: true }, so that other threads wait for it',
  )
}
