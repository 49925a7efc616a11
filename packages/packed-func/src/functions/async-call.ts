import { PackedFuncError } from '../errors/packed-func-error.ts'
import { takeError } from '../errors/crossing.ts'
import { openStack, PENDING, type Stack } from '../native/stack.ts'
import { catchUp, type NativeObject } from '../objects/native-object.ts'
import type { Argument, Value } from '../values/argument.ts'
import { pack } from '../values/pack.ts'
import { unpack } from '../values/unpack.ts'

/** Calls a function on another thread: the arguments wait in a job of native code, and so does the result. */
export async function callOnThread(
  target: NativeObject,
  values: readonly Argument[],
  signal: AbortSignal | undefined,
): Promise<Value> {
  signal?.throwIfAborted()
  const stack = openStack()
  const job = createJob(stack, target.checkAlive(), values)
  const cancel = (): void => stack.host.cancelJob(job)
  signal?.addEventListener('abort', cancel, { once: true })
  await new Promise<void>((resolve) => stack.host.runJob.async(job, () => resolve()))
  signal?.removeEventListener('abort', cancel)
  try {
    return finishJob(stack, job)
  } catch (error) {
    // What C++ kernels raise when they find that the host has asked them to stop: the host knows why.
    if (error instanceof PackedFuncError && error.kind === 'EnvErrorAlreadySet' && signal?.aborted === true)
      throw signal.reason
    throw error
  }
}

function createJob(stack: Stack, handle: number, values: readonly Argument[]): number {
  const { top: base, text, undo } = stack
  const undone = undo.length
  stack.enter(values.length)
  try {
    values.forEach((value, i) => pack(stack, base + 1 + i, value))
    if (stack.host.createJob(handle, stack.slotAddress(base), values.length) !== 0) throw takeError(stack, base)
    return stack.pointer(base)
  } finally {
    stack.settle(undone)
    stack.leave(base, text)
  }
}

function finishJob(stack: Stack, job: number): Value {
  const { top: base, text } = stack
  stack.enter(0)
  try {
    const typeIndex = stack.host.finishJob(job, stack.slotAddress(base))
    if (typeIndex === -1) throw takeError(stack, base)
    return unpack(stack, base, typeIndex)
  } finally {
    stack.leave(base, text)
    if (stack.head[PENDING] !== 0 && stack.top === 0) catchUp(stack)
  }
}
