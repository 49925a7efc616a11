import { addressOf, checkStatus, coreFunctionAddress, coreFunctions } from '@tenon/core/internal'
import { expectInQueue } from './async-queue.ts'

/** A message of native code to this thread, which arrives once. */
export interface Arrival {
  /** The function `void f(void*)` that native code calls, on any thread. */
  readonly functionAddress: number
  /** The argument of the function. */
  readonly argument: number
  /** Frees the message, because the function will not be called. */
  forget(): void
  /** Ignores the message. The function may be called late or never, so its memory stays allocated. */
  abandon(): void
}

const out = new BigUint64Array(1)
let arriveAddress: number | undefined

/** Makes a message of native code. `done` runs from the event loop, which is kept alive until then. */
export function expectArrival(done: () => void): Arrival {
  arriveAddress ??= coreFunctionAddress('tn_xla_async_arrive')
  const { tn_xla_async_expect: expect, tn_xla_async_forget: forget } = coreFunctions()
  let job = 0
  const leave = expectInQueue((queue, id) => {
    checkStatus(expect(queue, id, addressOf(out)), 'expecting a callback')
    job = Number(out[0])
  }, done)
  return {
    functionAddress: arriveAddress,
    argument: job,
    forget(): void {
      leave()
      forget(job)
    },
    abandon: leave,
  }
}
