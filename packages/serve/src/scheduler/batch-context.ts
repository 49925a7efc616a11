import type { ModelContext } from '../model/run-context.ts'
import type { Cancellation } from '../service/cancellation.ts'
import type { ScheduledRequest } from './job.ts'

/** The requests of one run, at least one. */
export type Requests = readonly { readonly request: ScheduledRequest }[]

/**
 * The requests of a run, for its function. It is a class, because every object literal with a getter has a hidden class of its own,
 * which keeps its request in memory until the next full garbage collection.
 */
export class BatchContext implements ModelContext {
  readonly #jobs: Requests
  readonly #cancellation: Cancellation

  constructor(jobs: Requests, cancellation: Cancellation) {
    this.#jobs = jobs
    this.#cancellation = cancellation
  }

  get parameters(): ModelContext['parameters'] {
    return this.#jobs[0]!.request.parameters
  }

  get traces(): ModelContext['traces'] {
    return this.#jobs.flatMap(({ request }) => request.trace ?? [])
  }

  get affinity(): string | undefined {
    return this.#jobs[0]!.request.affinity
  }

  get sequence(): ModelContext['sequence'] {
    return this.#jobs[0]!.request.turn?.context
  }

  get signal(): AbortSignal {
    return this.#cancellation.signal
  }
}
