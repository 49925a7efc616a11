import { expectJob, forgetJob, guardMode, isPending, isTraced, traceLater } from '@tenon/core/internal'
import { takeError } from '../errors/crossing.ts'
import { PackedFuncError } from '../errors/error-kinds.ts'
import { openStack, PENDING, type Stack } from '../native/stack.ts'
import { catchUp, type NativeObject } from '../objects/native-object.ts'
import type { Argument, Value } from '../values/argument.ts'
import { pack } from '../values/pack.ts'
import { unpack } from '../values/unpack.ts'
import { calleeOf, openCallee, packedTrace } from './call.ts'
import { checkedPackedCall } from './guarded-calls.ts'

/** The engine's functions, because those of a subclass may throw. */
const { addEventListener, removeEventListener } = EventTarget.prototype

/**
 * Calls a function on another thread. A native job holds the arguments, and later the result.
 *
 * @param named the values whose types the events of the call have.
 */
export async function callOnThread(
  target: NativeObject,
  values: readonly Argument[],
  signal: AbortSignal | undefined,
  named: readonly unknown[] = values,
): Promise<Value> {
  if (!isTraced()) return start(target, values, signal)
  return traceLater(packedTrace(calleeOf(target), named, true), () => start(target, values, signal))
}

async function start(
  target: NativeObject,
  values: readonly Argument[],
  signal: AbortSignal | undefined,
): Promise<Value> {
  signal?.throwIfAborted()
  const stack = openStack()
  let cancelJob: (() => void) | undefined
  const cancel = (): void => cancelJob?.()
  if (signal !== undefined) addEventListener.call(signal, 'abort', cancel)
  try {
    const job = createJob(stack, openCallee(target).handle, values)
    await new Promise<void>((resolve) => {
      const id = submitJob(stack, job, resolve)
      cancelJob = () => {
        // At the exit native code frees the jobs that are not over.
        if (isPending(id)) stack.host.tn_packed_job_cancel(job)
      }
      // A getter of an argument may have aborted the signal.
      if (signal?.aborted === true) cancel()
    })
    return guardMode ? checkedPackedCall(target, values, () => finishJob(stack, job)) : finishJob(stack, job)
  } catch (error) {
    // C++ kernels raise this kind when they see that the host asked them to stop. The host knows the reason.
    if (error instanceof PackedFuncError && error.kind === 'EnvErrorAlreadySet' && signal?.aborted === true)
      throw signal.reason
    throw error
  } finally {
    if (signal !== undefined) removeEventListener.call(signal, 'abort', cancel)
  }
}

function createJob(stack: Stack, handle: number, values: readonly Argument[]): number {
  return stack.frame(values.length, (base) => {
    values.forEach((value, i) => pack(stack, base + 1 + i, value))
    if (stack.entered.tn_packed_job_create(handle, stack.slotAddress(base), values.length) !== 0)
      throw takeError(stack, base)
    return stack.pointer(base)
  })
}

/** Runs a job on another thread, and returns its id. @throws the error of a job that could not be started, which exists no more */
function submitJob(stack: Stack, job: number, resolve: () => void): number {
  const id = expectJob(resolve)
  try {
    stack.frame(0, (base) => {
      if (stack.entered.tn_packed_job_submit(job, id, stack.slotAddress(base)) !== 0) throw takeError(stack, base)
    })
  } catch (error) {
    forgetJob(id)
    throw error
  }
  return id
}

function finishJob(stack: Stack, job: number): Value {
  try {
    return stack.frame(0, (base) => {
      // This frees the job, whose arguments may end now.
      const typeIndex = stack.resultOf(base, () => stack.entered.tn_packed_job_finish(job, stack.slotAddress(base)))
      if (typeIndex === -1) throw takeError(stack, base)
      return unpack(stack, base, typeIndex)
    })
  } finally {
    if (stack.head[PENDING] !== 0 && stack.top === 0) catchUp(stack)
  }
}
