import {
  addressOf,
  checkStarted,
  checkStatus,
  coreFunctionAddress,
  coreFunctions,
  pollReadable,
  statusName,
} from '@tenon/core/internal'
import type { Runnable } from '../call/call-target.ts'
import type { CallMemory } from '../native/call-memory.ts'

/** The continuation of a run. Its closure keeps the memory of the callee reachable. */
type Done = (status: number) => void

interface Queue {
  readonly address: number
  readonly poll: { ref(): void; unref(): void }
}

let opened: Queue | undefined
let lastId = 0
let arriveAddress: number | undefined
const inFlight = new Map<number, Done>()

const ids = new BigInt64Array(64)
const statuses = new Int32Array(64)
const out = new BigUint64Array(1)

function queue(): Queue {
  if (opened !== undefined) return opened
  const { tn_xla_async_open: open, tn_xla_async_close: close } = coreFunctions()
  const descriptor = new Int32Array(1)
  checkStatus(open(addressOf(out), addressOf(descriptor)), 'opening the queue of asynchronous calls')
  const address = Number(out[0])
  const poll = pollReadable(descriptor[0]!, takeDone)
  process.once('exit', () => {
    poll.close()
    // Other threads still write to memory of this one.
    close(address)
  })
  opened = { address, poll }
  return opened
}

function takeDone(): void {
  const { address, poll } = opened!
  const { tn_xla_async_take: take } = coreFunctions()
  for (;;) {
    const status = take(address, addressOf(ids), addressOf(statuses), ids.length, addressOf(out))
    checkStatus(status, 'taking asynchronous calls that are done')
    const count = Number(out[0])
    for (let i = 0; i < count; i++) {
      const id = Number(ids[i])
      const done = inFlight.get(id)
      inFlight.delete(id)
      // A run that was cancelled has no continuation.
      done?.(statuses[i]!)
    }
    if (count < ids.length) break
  }
  if (inFlight.size === 0) poll.unref()
}

/** Waits for a message. @returns a function that stops waiting, and returns whether the message had not arrived. */
function waitFor(id: number, done: Done): () => boolean {
  const { poll } = queue()
  if (inFlight.size === 0) poll.ref()
  inFlight.set(id, done)
  return () => {
    const waited = inFlight.delete(id)
    if (waited && inFlight.size === 0) poll.unref()
    return waited
  }
}

/**
 * Runs a call on a thread of the core.
 *
 * @param done is called from the event loop with the status of the run.
 * @returns a function that cancels the run if it has not started, so that `done` is not called, and returns whether it did.
 * @throws {ArgumentError} if the value of TENON_THREADS is not valid. @throws {NativeError} if the system does not support it.
 */
export function submit(target: Runnable, memory: CallMemory, done: Done): () => boolean {
  const id = ++lastId
  const { tn_xla_async_submit: start, tn_xla_async_cancel: cancel } = coreFunctions()
  const status = start(queue().address, memory.address, target.kind, id, addressOf(out))
  checkStarted(status, `starting ${target.name}`)
  const job = Number(out[0])
  const leave = waitFor(id, done)
  return () => inFlight.has(id) && statusName(cancel(job)) === 'OK' && leave()
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

/** Makes a message of native code. `done` runs from the event loop, which is kept alive until then. */
export function expectArrival(done: () => void): Arrival {
  const { tn_xla_async_expect: expect, tn_xla_async_forget: forget } = coreFunctions()
  const id = ++lastId
  checkStatus(expect(queue().address, id, addressOf(out)), 'expecting a callback')
  const job = Number(out[0])
  const leave = waitFor(id, done)
  return {
    functionAddress: (arriveAddress ??= coreFunctionAddress('tn_xla_async_arrive')),
    argument: job,
    forget(): void {
      leave()
      forget(job)
    },
    abandon: leave,
  }
}
