/** When crashed workers are started again. */
export interface RestartLimits {
  /** The number of crashes within `window` after which no worker is started any more. */
  readonly limit: number
  /** In milliseconds. */
  readonly window: number
  /** The longest delay in milliseconds. */
  readonly backoff: number
}

/** The delay before the second start in a row; each further one takes twice as long. */
const FIRST_DELAY = 10

/** Counts the crashes of all workers of a library. Times are in milliseconds of one clock. */
export class CrashWindow {
  readonly #limits: RestartLimits
  /** The times of the crashes, oldest first, at most one more than the limit. */
  #times: number[] = []

  constructor(limits: RestartLimits) {
    this.#limits = limits
  }

  /** Adds a crash. @returns whether there were more crashes within the window than the limit */
  add(now: number): boolean {
    const { limit, window } = this.#limits
    if (limit === Infinity) return false
    this.#times = this.#times.filter((time) => now - time <= window)
    this.#times.push(now)
    return this.#times.length > limit
  }

  /** The number of crashes within the window of the last one. */
  get count(): number {
    return this.#times.length
  }

  clear(): void {
    this.#times = []
  }
}

/** The delay before one process is started again, which grows while it keeps crashing. */
export class Backoff {
  readonly #longest: number
  /** The crashes in a row. */
  crashes = 0

  /** @param longest the longest delay in milliseconds. */
  constructor(longest: number) {
    this.#longest = longest
  }

  /** Adds a crash. @returns the delay in milliseconds before the next start */
  add(): number {
    this.crashes++
    if (this.crashes === 1) return 0
    return Math.min(FIRST_DELAY * 2 ** Math.min(this.crashes - 2, 30), this.#longest)
  }

  /** The process has succeeded, so the next crash costs no time. */
  clear(): void {
    this.crashes = 0
  }
}
