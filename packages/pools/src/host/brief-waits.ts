import type { Execution } from './execution.ts'
import type { Worker } from './worker.ts'

/** The longest wait for one answer in milliseconds. */
const LONGEST_WAIT = 0.2

/** After this time since the first wait in a turn of the event loop, in milliseconds, no more calls of the turn are waited for. */
const LONGEST_TURN = 1

/**
 * Waits on the thread of the event loop for asynchronous calls of short kernels. Code that awaits one such call after the other would keep the
 * event loop from its other events, so it goes on after a short time.
 */
export class BriefWaits {
  /** When the first wait in this turn of the event loop began, in milliseconds of `performance.now()`. */
  #began: number | undefined
  readonly #endTurn = (): void => void (this.#began = undefined)

  /**
   * Announces a call that its worker has got, and waits until it is answered, but not long.
   *
   * @returns false if the call is not one of those, and was not announced.
   */
  wait(
    worker: Pick<Worker, 'hasOnly' | 'postAndWait'>,
    execution: Execution,
    now: number = performance.now(),
  ): boolean {
    if (this.#began !== undefined && now - this.#began >= LONGEST_TURN) return false
    // A call that was taken back in the queue is not in the worker, which may not know its kernel.
    if (!worker.hasOnly(execution)) return false
    const { pace } = execution.known!
    if (!pace.takeTurn()) return false
    if (this.#began === undefined) {
      this.#began = now
      setImmediate(this.#endTurn)
    }
    pace.waited(worker.postAndWait(execution, LONGEST_WAIT) !== 'timed out')
    return true
  }
}

/** Those of this thread, whose event loop all workers share. */
export const briefWaits: BriefWaits = new BriefWaits()
