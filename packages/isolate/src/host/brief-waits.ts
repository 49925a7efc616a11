import type { Execution } from './execution.ts'
import type { Worker } from './worker.ts'

/** The longest wait for one answer in milliseconds. */
const LONGEST_WAIT = 0.2

/** The time in milliseconds after which no more calls of a turn of the event loop are waited for. */
const MOST_IN_TURN = 1

/**
 * Waits on the thread of the event loop for asynchronous calls of short kernels. Code that awaits one such call after the other would keep the
 * event loop from its other events, so it goes on after a short time.
 */
export class BriefWaits {
  readonly #clock: () => number
  /**
   * The time of the waits since the last reset, in milliseconds. The budget is renewed only when it is exhausted: a timer in each turn of
   * the event loop would cost as much as a call.
   */
  #waited = 0
  readonly #endTurn = (): void => void (this.#waited = 0)

  /** @param clock the time in milliseconds. */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock
  }

  /**
   * Announces a call that its worker has got, and waits until it is answered, but not long.
   *
   * @returns false if the call is not one of those, and was not announced.
   */
  wait(worker: Pick<Worker, 'hasOnly' | 'exchange'>, execution: Execution): boolean {
    if (this.#waited >= MOST_IN_TURN) return false
    // A call that was taken back in the queue is not in the worker, which may not know its kernel.
    if (!worker.hasOnly(execution)) return false
    const { pace } = execution.known!
    if (!pace.takeTurn()) return false
    const start = this.#clock()
    pace.waited(worker.exchange(execution, LONGEST_WAIT) !== 'timed out')
    this.#waited += this.#clock() - start
    if (this.#waited >= MOST_IN_TURN) setImmediate(this.#endTurn)
    return true
  }
}

/** Those of this thread, whose event loop all workers share. */
export const briefWaits: BriefWaits = new BriefWaits()
