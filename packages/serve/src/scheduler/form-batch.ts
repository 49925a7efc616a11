import type { Batching } from './batching-options.ts'
import type { Job } from './job.ts'

/** What a free instance does: it runs these requests, or looks again after a time in milliseconds. */
export type Decision = { readonly jobs: readonly Job[] } | { readonly wait: number }

/**
 * Decides what a free instance does. Requests are joined in the order in which they wait, and never split.
 *
 * The largest preferred size that the first requests make starts at once. Otherwise a batch starts when it is full, when the next
 * request does not fit, or when its oldest request has waited for the delay.
 *
 * @param waiting at least one request. @param now in milliseconds of `performance.now()`.
 */
export function formBatch(waiting: Iterable<Job>, batching: Batching, now: number): Decision {
  const { maxBatchSize, preferredSizes, delay } = batching
  const jobs: Job[] = []
  let size = 0
  let isFull = false
  let preferred = 0
  let oldest = now
  for (const job of waiting) {
    const first = jobs[0]
    if (first !== undefined && (job.key !== first.key || size + job.size > maxBatchSize)) {
      isFull = true
      break
    }
    jobs.push(job)
    size += job.size
    oldest = Math.min(oldest, job.request.arrived)
    if (preferredSizes.includes(size)) preferred = jobs.length
    if (size >= maxBatchSize) {
      isFull = true
      break
    }
  }
  if (preferred > 0) return { jobs: jobs.slice(0, preferred) }
  const rest = oldest + delay - now
  return isFull || rest <= 0 ? { jobs } : { wait: rest }
}
