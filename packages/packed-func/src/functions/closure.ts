import { ArgumentError } from '@tenon/core'
import { Callback, describe } from '@tenon/core/internal'
import { putError, takeError } from '../errors/crossing.ts'
import { PackedFuncTypeError } from '../errors/packed-func-error.ts'
import { openStack, type Stack } from '../native/stack.ts'
import { pack } from '../values/pack.ts'
import { unpackArgument } from '../values/unpack.ts'
import { RValue, TensorView } from '../values/wrappers.ts'
import { borrowedCount, endBorrowing } from '../tensors/unpack-tensor.ts'
import type { Argument, PackedCallback, Value } from '../values/argument.ts'
import { PackedFunc } from './packed-func.ts'

/**
 * Makes a packed function out of a function of TypeScript. Native code can call it, keep it and give it back; it lives
 * until the last reference is gone.
 *
 * Arguments are copies or references of their own, except tensors that are only lent (`DLTensor*`): those end with the
 * call. What the function throws reaches its caller as an error of the same kind and text. Only the thread that made it
 * runs it: a call from another thread fails with kind `ThreadError` and never waits.
 *
 * A function that keeps a native object which keeps the function is never collected.
 *
 * @throws {ArgumentError} if it is no function.
 * @example
 * const twice = packedFunc((x: number) => 2 * x)
 * twice.call(21) // 42
 */
export function packedFunc(run: (...values: never[]) => Argument | void): PackedFunc {
  if (typeof run !== 'function') throw new ArgumentError(`run must be a function, got ${describe(run)}`)
  const stack = openStack()
  const slot = stack.top
  stack.enter(0)
  try {
    makeFunction(stack, slot, run)
    return new PackedFunc(stack.pointer(slot))
  } finally {
    stack.leave(slot, stack.text)
  }
}

/** Packs a function of TypeScript as an argument: it lives as long as native code keeps it. */
export function packCallback(stack: Stack, slot: number, run: PackedCallback): void {
  makeFunction(stack, slot, run)
  stack.undo.push(slot)
}

/** Leaves a packed function in a slot, with one reference. */
function makeFunction(stack: Stack, slot: number, run: PackedCallback): void {
  const callback = new Callback((base, count) => runInFrame(stack, base, count, run as (...values: Value[]) => unknown))
  try {
    if (stack.host.createFunction(stack.slotAddress(slot), callback.address) !== 0) throw takeError(stack, slot)
  } finally {
    // The native function keeps it from now on.
    callback.release()
  }
}

/** Runs a function whose arguments lie in the slots after `base`, and leaves its result, or its error, in `base`. */
function runInFrame(stack: Stack, base: number, count: number, run: (...values: Value[]) => unknown): void {
  const { top, text } = stack
  const undo = stack.undo.length
  const borrowed = borrowedCount()
  stack.top = base + count + 1
  try {
    try {
      packResult(stack, base, callWith(stack, base + 1, count, run), undo)
    } finally {
      if (borrowed !== borrowedCount()) endBorrowing(borrowed)
    }
  } catch (error) {
    putError(stack, base, error)
    stack.head[1] = 1
    stack.head[2] = 0
  } finally {
    if (stack.undo.length !== undo) stack.settle(undo)
    stack.top = top
    stack.text = text
  }
}

/** Calls a function with the arguments from a slot on: few of them without an array. */
function callWith(stack: Stack, first: number, count: number, run: (...values: Value[]) => unknown): unknown {
  switch (count) {
    case 0:
      return run()
    case 1:
      return run(unpackArgument(stack, first))
    case 2:
      return run(unpackArgument(stack, first), unpackArgument(stack, first + 1))
    default:
      return run(...Array.from({ length: count }, (_, i) => unpackArgument(stack, first + i)))
  }
}

/** Packs a result. One that was made for it is native code's from then on; others are copied there. */
function packResult(stack: Stack, slot: number, result: unknown, undo: number): void {
  if (typeof result === 'object' && result !== null) refuseLent(result)
  pack(stack, slot, result)
  if (stack.undo.length === undo) return
  const made = stack.undo.indexOf(slot, undo)
  if (made === -1) return
  stack.undo.splice(made, 1)
  stack.head[2] = 1
}

function refuseLent(result: object): void {
  if (result instanceof Promise) throw asynchronous(result)
  if (result instanceof RValue || result instanceof TensorView) {
    throw new PackedFuncTypeError('TypeError', `a function can't return ${describe(result)}: it is only lent to calls`)
  }
}

function asynchronous(result: Promise<unknown>): PackedFuncTypeError {
  result.catch(() => {})
  return new PackedFuncTypeError(
    'TypeError',
    'asynchronous function used as packed function: native code can not wait for a promise',
  )
}
