import type { Model } from '../model/model.ts'
import type { Cancellation } from '../service/cancellation.ts'
import { deadlineError } from '../service/deadline.ts'
import type { Requests } from './job.ts'
import type { RunDeadlines } from './run-deadlines.ts'

/**
 * Waits for what a model makes until its deadline, or until all clients are gone.
 *
 * @param own cancelled with the reason if it is not made in time.
 */
export function limit<Made>(
  model: Model,
  jobs: Requests,
  deadlines: RunDeadlines,
  own: Cancellation,
  made: Promise<Made>,
): Promise<Made> {
  return new Promise((resolve, reject) => {
    const end = (reason: unknown): void => {
      own.cancel(reason)
      for (const { request } of jobs) if (request.turn !== undefined) request.turn.isLeftAlone = true
      settled()
      reject(reason as Error)
    }
    const gone = (): void => {
      if (jobs.every(({ request }) => request.cancellation.isCancelled)) end(jobs[0]!.request.cancellation.reason)
    }
    const run = deadlines.add(() => end(deadlineError(model.name, model.deadline, 'running')))
    const settled = (): void => {
      deadlines.delete(run)
      for (const { request } of jobs) request.cancellation.listener = undefined
    }
    for (const { request } of jobs) request.cancellation.listener = gone
    const settling =
      <Value>(next: (value: Value) => void) =>
      (value: Value): void => {
        settled()
        next(value)
      }
    made.then(settling(resolve), settling(reject))
  })
}
