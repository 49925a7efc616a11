import { addressOf, checkStatus, coreFunctionAddress, coreFunctions } from '@tenon/core/internal'
import { expectInQueue } from './async-queue.ts'

/** Something that native code will tell this thread about, once. */
export interface Arrival {
  /** `void f(void*)`: what native code calls, on any thread. */
  readonly functionAddress: number
  /** What it is called with. */
  readonly argument: number
  /** It will not be called: nothing was started. */
  forget(): void
  /** Nobody listens any more. It may be called late or never: what it needs stays allocated. */
  abandon(): void
}

const out = new BigUint64Array(1)
let arriveAddress: number | undefined

/** Makes something that native code can call back with. `done` runs from the event loop, which is kept alive until then. */
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
