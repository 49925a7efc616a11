import { addressOf, checkStatus, coreFunctions, pollReadable, statusName } from '@tenon/core/internal'
import type { Runnable } from '../call/call-target.ts'
import { refused } from '../errors/xla-error-classes.ts'
import type { CallMemory } from '../native/call-memory.ts'

/** The greatest number of runs in flight on one JavaScript thread. */
const MOST_IN_FLIGHT = 1024

/** The continuation of a run. Its closure keeps the memory of the callee reachable. */
type Done = (status: number) => void

/** The queue of this thread. */
interface Queue {
  readonly address: number
  readonly poll: { ref(): void; unref(): void }
}

let opened: Queue | undefined
let lastId = 0
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

/** Continues the runs that are over. */
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

/**
 * Waits for a message of native code.
 *
 * @param begin gets the queue's address and the id of the message.
 * @returns a function that stops waiting.
 */
export function expectInQueue(begin: (queue: number, id: number) => void, done: () => void): () => void {
  const { address, poll } = queue()
  const id = ++lastId
  begin(address, id)
  if (inFlight.size === 0) poll.ref()
  inFlight.set(id, done)
  return () => {
    if (inFlight.delete(id) && inFlight.size === 0) poll.unref()
  }
}

/**
 * Runs a call on a thread of the core.
 *
 * @param done is called from the event loop with the status of the run.
 * @returns a function that cancels the run if it has not started, so that `done` is not called, and returns whether it did.
 * @throws {ResourceExhaustedError} if too many runs are in flight. @throws {NativeError} if the system does not support it.
 */
export function submit(target: Runnable, memory: CallMemory, done: Done): () => boolean {
  if (inFlight.size >= MOST_IN_FLIGHT) {
    const text = `${MOST_IN_FLIGHT} asynchronous calls are in flight: await some first`
    throw refused('RESOURCE_EXHAUSTED', target.name, text)
  }
  const { address, poll } = queue()
  const id = ++lastId
  const { tn_xla_async_submit: start, tn_xla_async_cancel: cancel } = coreFunctions()
  const status = start(address, memory.address, target.kind, id, addressOf(out))
  checkStatus(status, `starting ${target.name}`)
  const job = Number(out[0])
  if (inFlight.size === 0) poll.ref()
  inFlight.set(id, done)
  return () => {
    if (!inFlight.has(id) || statusName(cancel(job)) !== 'OK') return false
    inFlight.delete(id)
    if (inFlight.size === 0) poll.unref()
    return true
  }
}
