import { isMainThread } from 'node:worker_threads'
import { NativeError } from '@tenon/core'
import type { Dispatcher } from './dispatcher.ts'
import { nextTime } from './due-times.ts'
import type { Execution } from './execution.ts'
import { KILL_TIMEOUT } from './supervisor.ts'
import type { Seat } from './seat.ts'
import { waitForAny } from './worker-process.ts'

/** The longest wait in native code, in ms: `worker.terminate()` ends a thread only when JavaScript goes on. */
const LONGEST_WAIT = isMainThread ? Infinity : 100

/** Waits on this thread until a call is settled. Once a worker has the call, only the functions that it calls are served. */
export function waitFor(dispatcher: Dispatcher, execution: Execution): void {
  while (!execution.isSettled) {
    if (execution.place < 0) waitForTurn(dispatcher, execution)
    else waitForAnswer(dispatcher, execution, dispatcher.crew.seats[execution.place]!)
  }
}

function waitForAnswer(dispatcher: Dispatcher, execution: Execution, seat: Seat): void {
  const { crew, supervisor } = dispatcher
  const worker = seat.worker!
  const isAlone = crew.seats.length === 1 && crew.queue.length === 0 && worker.isReady && !crew.watchesMemory
  const next = isAlone && execution.cancelledAt === 0 ? execution.deadlineAt : nextTime(crew)
  const result = worker.exchange(execution, Math.min(next - performance.now(), LONGEST_WAIT))
  if (result === 'changed') dispatcher.collect(seat)
  else if (result === 'ended') supervisor.ended(seat, KILL_TIMEOUT)
  // A worker that damages its ring can end waits for ever.
  if (result === 'timed out' || performance.now() >= next) dispatcher.tick()
}

/** Serves all workers until the call may have one. */
function waitForTurn(dispatcher: Dispatcher, execution: Execution): void {
  const { crew, supervisor } = dispatcher
  const eligible = crew.seats.filter(({ index }) => execution.seat < 0 || execution.seat === index)
  if (eligible.every(({ worker }) => worker?.isServing === true)) {
    execution.reject(stuckError(execution))
    crew.dequeue(execution)
    return
  }
  const seats = crew.seats.filter(({ worker }) => worker !== undefined && !worker.isServing)
  const workers = seats.map(({ worker }) => worker!)
  const seen = workers.map(({ host }) => host.memory.responses)
  for (const seat of seats) dispatcher.collect(seat)
  if (execution.place >= 0 || execution.isSettled) return
  const isSame = seats.every(({ worker }, index) => worker === workers[index])
  const timeout = Math.min(nextTime(crew) - performance.now(), LONGEST_WAIT)
  if (isSame) waitForAny(workers.map(({ host }) => host), seen, timeout) // prettier-ignore
  for (const seat of seats) {
    supervisor.ended(seat)
    dispatcher.collect(seat)
  }
  dispatcher.tick()
}

function stuckError({ call }: Execution): NativeError {
  const { name } = call.kernel
  return new NativeError(`${name} cannot run, because all workers wait for the function that calls it`, {
    hint: 'Use more workers, or call the asynchronous form and return.',
    details: { status: 'DEADLOCK', kernel: name },
  })
}
