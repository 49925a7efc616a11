import { LONGEST_TIMER } from '../service/call-later.ts'

/** A run that may take until its deadline. */
export interface LimitedRun {
  /** In milliseconds of `performance.now()`. */
  readonly endsAt: number
  expire(): void
}

/**
 * The deadlines of the runs of one model, which may all take the same time. They share one timer, because most runs end long before, and a
 * timer of its own would take as long as a short kernel.
 */
export class RunDeadlines {
  readonly #deadline: number
  /** In the order of their ends. */
  readonly #runs = new Set<LimitedRun>()
  #timer: NodeJS.Timeout | undefined

  /** @param deadline the longest time of a run in milliseconds. */
  constructor(deadline: number) {
    this.#deadline = deadline
  }

  /** Calls a function at the deadline of a run that begins now, unless it is {@link delete deleted} before. */
  add(expire: () => void): LimitedRun {
    const run = { endsAt: performance.now() + this.#deadline, expire }
    this.#runs.add(run)
    if (this.#timer === undefined) this.#setTimer(this.#deadline)
    else if (this.#runs.size === 1) this.#timer.ref()
    return run
  }

  delete(run: LimitedRun): void {
    // Without runs, the timer does not keep the process alive.
    if (this.#runs.delete(run) && this.#runs.size === 0) this.#timer?.unref()
  }

  #setTimer(delay: number): void {
    if (delay <= LONGEST_TIMER) this.#timer = setTimeout(() => this.#expire(), Math.max(Math.ceil(delay), 1))
  }

  #expire(): void {
    this.#timer = undefined
    const now = performance.now()
    for (const run of this.#runs) {
      if (run.endsAt > now) {
        this.#setTimer(run.endsAt - now)
        return
      }
      this.#runs.delete(run)
      run.expire()
    }
  }
}
