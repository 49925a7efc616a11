import type { Crew } from './crew.ts'
import type { Seat } from './seat.ts'

/** The longest time from the start of a process to its first answer, in ms. */
export const START_TIMEOUT = 10_000
/** The time between two requests to cancel the same call, in ms, because the worker may not have taken it yet. */
export const CANCEL_AGAIN = 10
/** The time between two looks at the memory of a worker, in ms. */
export const MEMORY_INTERVAL = 50

/** When the next thing is due, in ms of `performance.now()`. */
export function nextTime(crew: Crew): number {
  let next = Infinity
  for (const queued of crew.queue) {
    for (const execution of queued.group()) {
      if (!execution.isSettled) next = Math.min(next, execution.deadlineAt)
    }
  }
  for (const seat of crew.seats) next = Math.min(next, timeOf(crew, seat))
  return next
}

function timeOf(crew: Crew, { worker, startsAt }: Seat): number {
  if (worker === undefined) return crew.failure === undefined ? startsAt : Infinity
  let next = worker.isReady ? Infinity : worker.startedAt + START_TIMEOUT
  if (worker.ending !== undefined) return next
  for (const execution of worker.executions) {
    if (execution.cancelledAt === 0) next = Math.min(next, execution.deadlineAt)
  }
  const [current] = worker.executions
  if (current === undefined) return next
  const now = performance.now()
  if (current.cancelledAt !== 0) next = Math.min(next, worker.endOf(current, crew.settings.grace), now + CANCEL_AGAIN)
  return crew.watchesMemory ? Math.min(next, now + MEMORY_INTERVAL) : next
}
