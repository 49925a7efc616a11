import type { TimeHistogram } from './options.ts'

const BUCKETS = 40

/** A histogram of times, with a bucket for each power of two of nanoseconds. The last bucket has all longer times. */
export class TimeCounts {
  readonly #buckets = new Float64Array(BUCKETS)
  #count = 0
  #sum = 0

  /** Adds a time in nanoseconds. Times below 1 count as 1. */
  add(time: number): void {
    this.#count++
    this.#sum += time
    const bucket = time < 2 ** 32 ? 31 - Math.clz32(time) : 63 - Math.clz32(time / 2 ** 32)
    this.#buckets[Math.min(Math.max(bucket, 0), BUCKETS - 1)]!++
  }

  snapshot(): TimeHistogram {
    return { count: this.#count, sum: this.#sum, buckets: [...this.#buckets] }
  }
}
