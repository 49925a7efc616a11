/** A kernel that took less, in nanoseconds, is waited for. To go on in the event loop, and to be woken by the answer, takes longer. */
const SHORT = 50_000

/** After waits in vain, twice as many calls as before are not waited for, at most this many. */
const MOST_SKIPPED = 1024

/** How long a kernel takes, as its worker says. A worker that lies delays its callers a little. */
export class Pace {
  #time = Infinity
  #skipped = 0
  #left = 0

  /** Notes the time of a call in nanoseconds. */
  answered(time: number): void {
    this.#time = time
  }

  /** Counts a call, and says whether it is waited for. */
  takeTurn(): boolean {
    if (this.#time >= SHORT) return false
    if (this.#left === 0) return true
    this.#left--
    return false
  }

  /** Notes whether a call was answered while it was waited for. */
  waited(isAnswered: boolean): void {
    this.#skipped = isAnswered ? 0 : Math.min(Math.max(2 * this.#skipped, 1), MOST_SKIPPED)
    this.#left = this.#skipped
  }
}
