import { coreFunctions, LONGEST_TIMER } from '@tenon/core/internal'

/** One timer for the next of many times. It keeps the process alive while somebody waits. */
export class Timer {
  readonly #due: () => void
  #timer: NodeJS.Timeout | undefined
  #at = Infinity
  #waiting = 0
  #isClosed = false

  constructor(due: () => void) {
    this.#due = due
  }

  /** Calls back at `time` or before, in ms of `performance.now()`. */
  by(time: number): void {
    if (time >= this.#at) return
    this.set(time)
  }

  /** Calls back at `time` and not before; never if it is infinite. */
  set(time: number): void {
    if (this.#isClosed) return
    if (this.#timer !== undefined) clearTimeout(this.#timer)
    this.#at = time
    const delay = Math.min(Math.max(Math.ceil(time - performance.now()), 1), LONGEST_TIMER)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#at = Infinity
      this.#due()
      if (this.#timer === undefined) this.set(Infinity)
    }, delay)
    if (this.#waiting === 0) this.#timer.unref()
  }

  /** Somebody waits, so the process stays alive. */
  wait(): void {
    this.#waiting++
    if (this.#waiting > 1) return
    if (this.#timer === undefined) this.set(Infinity)
    else this.#timer.ref()
  }

  /** Ends what {@link wait} began. */
  done(): void {
    this.#waiting--
    if (this.#waiting === 0) this.#timer?.unref()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#at = Infinity
  }
}

/**
 * A little more than the difference between the clock of workers and that of JavaScript, in ms, so that no worker finds a deadline missed
 * before this process does.
 */
export function clockOffset(): number {
  let least = Infinity
  for (let round = 0; round < 3; round++) {
    const before = performance.now()
    least = Math.min(least, Number(coreFunctions().tn_host_now()) / 1e6 - before)
  }
  return least
}
