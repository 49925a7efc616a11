import { QueueFullError } from '@tenon/core'
import { InvalidRequestError, ModelUnavailableError, RequestTooLargeError } from '../errors.ts'
import type { Cancellation } from './cancellation.ts'
import type { FailureReason, Metrics } from './metrics.ts'
import type { ServedModel } from './served-model.ts'

/** Answers one request for a model, and counts what came of it. */
export async function countInference<Result>(
  served: ServedModel,
  metrics: Metrics,
  cancellation: Cancellation,
  answer: () => Promise<Result>,
): Promise<Result> {
  const start = performance.now()
  try {
    const result = await answer()
    metrics.addSuccess(served, (performance.now() - start) / 1000)
    return result
  } catch (error) {
    served.statistics.addFailure(1e6 * (performance.now() - start))
    metrics.addFailure(served, reasonOf(error, cancellation))
    throw error
  }
}

function reasonOf(error: unknown, cancellation: Cancellation): FailureReason {
  if (cancellation.isCancelled) return 'CANCELED'
  if (error instanceof QueueFullError || error instanceof ModelUnavailableError) return 'REJECTED'
  if (error instanceof InvalidRequestError || error instanceof RequestTooLargeError) return 'OTHER'
  return 'BACKEND'
}
