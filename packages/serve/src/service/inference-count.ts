import { QueueFullError, UnsupportedError } from '@tenon/core'
import { KernelDeadlineError } from 'tenon/isolate'
import { InvalidRequestError, ModelUnavailableError, PipelineStepError, RequestTooLargeError } from '../errors.ts'
import type { RequestRecord } from '../log/request-record.ts'
import type { Carrier } from '../tracing/trace-context.ts'
import type { RequestTrace } from '../tracing/tracing.ts'
import type { Cancellation } from './cancellation.ts'
import { faultOf } from './fault-of.ts'
import type { FailureReason, Metrics } from './metrics.ts'
import type { ServedModel } from './served-model.ts'
import type { ServerState } from './server-state.ts'

/** Where a request comes from. */
export interface Origin {
  /** Cancelled when the client is gone. */
  readonly cancellation: Cancellation
  /** The headers, which can name the client's trace. */
  readonly carrier: Carrier
  /** The record of the request for the log. */
  readonly record: RequestRecord
}

/** The trace of one request for a model, and the counts of what came of it. Either {@link succeed} or {@link fail} ends it. */
export class InferenceCount {
  readonly trace: RequestTrace | undefined
  readonly #served: ServedModel
  readonly #metrics: Metrics
  readonly #cancellation: Cancellation
  readonly #record: RequestRecord
  readonly #start = performance.now()

  constructor(
    served: ServedModel,
    { metrics, tracing }: Pick<ServerState, 'metrics' | 'tracing'>,
    { cancellation, carrier, record }: Origin,
  ) {
    this.#served = served
    this.#metrics = metrics
    this.#cancellation = cancellation
    this.#record = record
    record.model = served.model.name
    record.version = served.model.version
    this.trace = tracing.start(served.model, carrier)
  }

  /** Counts the first answer of a stream. */
  begin(): void {
    this.#metrics.addFirst(this.#served, performance.now() - this.#start)
  }

  succeed(): void {
    this.#metrics.addSuccess(this.#served, (performance.now() - this.#start) / 1000)
    this.#served.fault = undefined
    this.trace?.end()
  }

  fail(error: unknown): void {
    this.#served.statistics.addFailure(1e6 * (performance.now() - this.#start))
    const reason = reasonOf(error, this.#cancellation)
    this.#record.reason = reason
    this.#metrics.addFailure(this.#served, reason)
    const fault = faultOf(error)
    if (fault !== undefined) this.#served.fault = fault
    this.trace?.end(error)
  }
}

/** The reason of a failure for the metrics. */
export function reasonOf(error: unknown, cancellation: Pick<Cancellation, 'isCancelled'>): FailureReason {
  if (error instanceof PipelineStepError) return reasonOf(error.cause, cancellation)
  if (cancellation.isCancelled) return 'CANCELED'
  if (
    error instanceof InvalidRequestError ||
    error instanceof RequestTooLargeError ||
    error instanceof UnsupportedError
  )
    return 'OTHER'
  if (error instanceof KernelDeadlineError) return error.details['stage'] === 'queued' ? 'REJECTED' : 'BACKEND'
  const isRejected =
    error instanceof QueueFullError || error instanceof ModelUnavailableError || faultOf(error) !== undefined
  return isRejected ? 'REJECTED' : 'BACKEND'
}
