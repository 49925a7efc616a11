import { addressOf, checkStatus, coreFunctionAddress, coreFunctions, expectJob, forgetJob } from '@tenon/core/internal'

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
  const out = new BigUint64Array(1)
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
