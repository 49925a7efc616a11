import {
  addressOf,
  checkStarted,
  checkStatus,
  coreFunctionAddress,
  coreFunctions,
  expectJob,
  forgetJob,
  isPending,
  keepAlive,
  statusName,
  unrefJob,
} from '@tenon/core/internal'
import type { Runnable } from '../call/call-target.ts'
import type { CallMemory } from '../native/call-memory.ts'

/** The continuation of a run. Its closure keeps the memory of the callee reachable. */
type Done = (status: number) => void

const out = new BigUint64Array(1)

/**
 * Runs a call on a thread of the core.
 *
 * @param done is called from the event loop with the status of the run.
 * @returns a function that cancels the run if it has not started, so that `done` is not called, and returns whether it did.
 * The event loop does not wait for a run that has started after that.
 * @throws {ArgumentError} if the value of TENON_THREADS is not valid. @throws {NativeError} if the system has no thread left.
 */
export function submit(target: Runnable, memory: CallMemory, done: Done): () => boolean {
  const { tn_xla_async_submit: start, tn_xla_async_cancel: cancel } = coreFunctions()
  const id = expectJob(done)
  const name = Buffer.from(target.name)
  const status = start(memory.address, target.kind, id, addressOf(name), name.length, addressOf(out))
  keepAlive(name)
  if (status !== 0) forgetJob(id)
  checkStarted(status, `starting ${target.name}`)
  const job = Number(out[0])
  return () => {
    if (!isPending(id)) return false
    if (statusName(cancel(job)) === 'OK') return forgetJob(id)
    unrefJob(id)
    return false
  }
}

/** A message of native code to this thread, which arrives once. */
export interface Arrival {
  /** The function `void f(void*)` that native code calls, on any thread. */
  readonly functionAddress: number
  readonly argument: number
  /** Frees the message, because the function will not be called. */
  forget(): void
  /** Ignores the message. The function may be called late or never, so its memory stays allocated. */
  abandon(): void
}

let arriveAddress: number | undefined

/** Makes a message of native code. `done` runs from the event loop, which is kept alive until then. */
export function expectArrival(done: () => void): Arrival {
  const { tn_xla_async_expect: expect, tn_xla_async_forget: forget } = coreFunctions()
  const id = expectJob(done)
  const status = expect(id, addressOf(out))
  if (status !== 0) forgetJob(id)
  checkStatus(status, 'expecting a callback')
  const job = Number(out[0])
  return {
    functionAddress: (arriveAddress ??= coreFunctionAddress('tn_xla_async_arrive')),
    argument: job,
    forget(): void {
      if (forgetJob(id)) forget(job)
    },
    abandon: () => void forgetJob(id),
  }
}
