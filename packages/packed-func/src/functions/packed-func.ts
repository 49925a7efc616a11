import { takeError, takeErrorText } from '../errors/crossing.ts'
import { openStack, type Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { isAnythingWaiting, NativeObject, releaseWaiting } from '../objects/native-object.ts'
import type { Argument, Value } from '../values/argument.ts'
import { handOver } from '../tensors/pack-tensor.ts'
import { pack } from '../values/pack.ts'
import { unpack } from '../values/unpack.ts'

/** How a call ended: see {@link PackedFunc.tryCall}. */
export type CallResult =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly kind: string; readonly sentence: string }

let stack: Stack

/**
 * A packed function: called with values of any type, in whatever language it is written.
 *
 * @example
 * const add = getGlobal('mylib.add')
 * add.call(1, 2) // 3
 */
export class PackedFunc extends NativeObject {
  /** @internal takes over a reference */
  constructor(handle: number) {
    super(TypeIndex.Function, handle)
    stack ??= openStack()
  }

  /**
   * Calls the function.
   *
   * @returns what it returned; objects are the caller's.
   * @throws {PackedFuncError} what it raised; an error of JavaScript that went through native code comes back as it was.
   * @throws {ScopeClosedError} if the function, or memory of a tensor, is gone.
   */
  call(...values: Argument[]): Value {
    const handle = this.handle === 0 ? this.checkAlive() : this.handle
    const { top: base, text, first, tensors } = stack
    const undo = stack.undo.length
    stack.enter(values.length)
    try {
      const typeIndex = run(handle, base, values)
      if (typeIndex === -1) throw takeError(stack, base)
      return unpack(stack, base, typeIndex)
    } finally {
      if (stack.undo.length !== undo) stack.settle(undo)
      stack.first = first
      stack.tensors = tensors
      stack.leave(base, text)
      if (stack.depth === 0 && isAnythingWaiting()) releaseWaiting(stack)
    }
  }

  /**
   * Calls the function without throwing what it raises: a failure costs no stack trace.
   *
   * @throws {ArgumentError} if a value can't be passed. @throws {ScopeClosedError} as {@link call}
   * @example
   * const result = lookup.tryCall('key')
   * if (!result.ok && result.kind === 'KeyError') return undefined
   */
  tryCall(...values: Argument[]): CallResult {
    const handle = this.checkAlive()
    const { top: base, text, first, tensors } = stack
    const undo = stack.undo.length
    stack.enter(values.length)
    try {
      const typeIndex = run(handle, base, values)
      if (typeIndex === -1) return { ok: false, ...takeErrorText(stack, base) }
      return { ok: true, value: unpack(stack, base, typeIndex) }
    } finally {
      if (stack.undo.length !== undo) stack.settle(undo)
      stack.first = first
      stack.tensors = tensors
      stack.leave(base, text)
      if (stack.depth === 0 && isAnythingWaiting()) releaseWaiting(stack)
    }
  }

  /** The function as a function of JavaScript. */
  asFunction(): (...values: Argument[]) => Value {
    return (...values) => this.call(...values)
  }
}

/** Packs the arguments into the frame at `base` and calls: the type index of the result, or -1. */
function run(handle: number, base: number, values: readonly unknown[]): number {
  const count = values.length
  stack.first = base + 1
  stack.tensors = 0
  for (let i = 0; i < count; i++) pack(stack, base + 1 + i, values[i])
  const frame = stack.slotAddress(base)
  if (stack.tensors === 0) return stack.host.call(handle, frame, count)
  const typeIndex = stack.host.callWithTensors(handle, frame, count, stack.tensors)
  if (stack.head[3] !== 0) handOver(stack, values, stack.head[3]!)
  return typeIndex
}
