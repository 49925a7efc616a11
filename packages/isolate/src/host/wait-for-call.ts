import { NativeError } from '@tenon/core'
import { isMainThread } from '@tenon/core/internal'
import type { Execution } from './execution.ts'
import type { Pool } from './pool.ts'
import { KILL_TIMEOUT } from './supervisor.ts'
import { waitForAny } from './worker-process.ts'
import type { WorkerSlot } from './worker-slot.ts'

/** The longest wait in native code, in ms. `worker.terminate()` ends a thread only when JavaScript goes on. */
const longestWait = (): number => (isMainThread() ? Infinity : 100)

/** Waits on this thread until a call is settled. Once a worker has the call, only the functions that it calls are served. */
export function waitForCall(pool: Pool, execution: Execution): void {
  pool.warmUps.blockingCalls++
  try {
    while (!execution.isSettled) {
      if (execution.place < 0) waitForTurn(pool, execution)
      else waitForAnswer(pool, execution, pool.slots[execution.place]!)
    }
  } finally {
    pool.warmUps.blockingCalls--
  }
}

function waitForAnswer(pool: Pool, execution: Execution, slot: WorkerSlot): void {
  const { supervisor } = pool
  const worker = slot.worker!
  const isAlone = pool.slots.length === 1 && pool.queue.length === 0 && worker.isReady && !pool.watchesMemory
  const next = isAlone && execution.cancelledAt === 0 ? execution.deadlineAt : pool.nextTime
  const result = worker.exchange(execution, Math.min(next - performance.now(), longestWait()))
  if (result === 'changed') pool.collect(slot)
  else if (result === 'ended') supervisor.ended(slot, KILL_TIMEOUT)
  // A worker that damages its ring can end waits for ever.
  if (result === 'timed out' || performance.now() >= next) pool.tick()
}

/** Serves all workers until the call may have one. */
function waitForTurn(pool: Pool, execution: Execution): void {
  const { supervisor } = pool
  const eligible = pool.slots.filter(({ index }) => execution.workerIndex < 0 || execution.workerIndex === index)
  if (eligible.every(({ worker }) => worker?.isServing === true)) {
    execution.reject(stuckError(execution))
    pool.dequeue(execution)
    return
  }
  const slots = pool.slots.filter(({ worker }) => worker !== undefined && !worker.isServing)
  const workers = slots.map(({ worker }) => worker!)
  const seen = workers.map(({ host }) => host.memory.responses)
  for (const slot of slots) pool.collect(slot)
  if (execution.place >= 0 || execution.isSettled) return
  const isSame = slots.every(({ worker }, index) => worker === workers[index])
  const timeout = Math.min(pool.nextTime - performance.now(), longestWait())
  if (isSame) waitForAny(workers.map(({ host }) => host), seen, timeout) // prettier-ignore
  for (const slot of slots) {
    supervisor.ended(slot)
    pool.collect(slot)
  }
  pool.tick()
}

function stuckError({ call }: Execution): NativeError {
  const { name } = call.kernel
  return new NativeError(`${name} cannot run, because all workers wait for the function that calls it`, {
    hint: 'Use more workers, or call the asynchronous form and return.',
    details: { status: 'DEADLOCK', kernel: name },
  })
}
