import type { Job } from './job.ts'

/** The requests that wait, the highest priority first, and those of one priority in the order in which they came. */
export class JobQueue {
  readonly #levels = new Map<number, Set<Job>>()
  /** Requests that waited too long, and run after all others. */
  readonly #delayed = new Set<Job>()
  /** The requests of each priority, with those that waited too long. */
  readonly #sizes = new Map<number, number>()

  /** The number of all requests. A field, because it is read for each request, and the queue is seldom used. */
  size = 0

  /** The requests of one priority, with those that waited too long. */
  sizeOf(level: number): number {
    return this.#sizes.get(level) ?? 0
  }

  add(job: Job): void {
    this.size++
    this.#sizes.set(job.level, this.sizeOf(job.level) + 1)
    const jobs = this.#levels.get(job.level)
    if (jobs !== undefined) {
      jobs.add(job)
      return
    }
    this.#levels.set(job.level, new Set([job]))
  }

  /** Puts a request behind all others. */
  delay(job: Job): void {
    this.#levels.get(job.level)?.delete(job)
    this.#delayed.add(job)
  }

  delete(job: Job): void {
    const isWaiting = this.#levels.get(job.level)?.delete(job) === true || this.#delayed.delete(job)
    if (!isWaiting) return
    this.size--
    this.#sizes.set(job.level, this.sizeOf(job.level) - 1)
  }

  *[Symbol.iterator](): Generator<Job> {
    for (const level of [...this.#levels.keys()].toSorted((a, b) => a - b)) yield* this.#levels.get(level)!
    yield* this.#delayed
  }
}
