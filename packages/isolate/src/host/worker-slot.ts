import { pollReadable, type ReadableWatch } from '@tenon/core/internal'
import { Backoff, type RestartLimits } from './restart-policy.ts'
import type { Worker } from './worker.ts'

/** The place of one worker, in which one process follows another. */
export class WorkerSlot {
  readonly index: number
  readonly backoff: Backoff
  worker: Worker | undefined
  /** When the next process is started, in ms of `performance.now()`, if there is none. */
  startsAt: number = Infinity
  /** The number of processes that were started. */
  starts = 0
  #watches: readonly ReadableWatch[] = []

  constructor(index: number, limits: RestartLimits) {
    this.index = index
    this.backoff = new Backoff(limits.backoff)
  }

  /** Takes a worker that was started, and listens for its answers and its end. @throws {NativeError} and closes the worker */
  take(worker: Worker, onRing: () => void, onEnd: () => void): void {
    const watches: ReadableWatch[] = []
    try {
      watches.push(pollReadable(worker.host.eventfd, onRing))
      watches.push(pollReadable(worker.host.pidfd, onEnd))
    } catch (error) {
      for (const watch of watches) watch.close()
      worker.close()
      throw error
    }
    this.#watches = watches
    this.worker = worker
    this.startsAt = Infinity
    this.starts++
  }

  /** Closes the worker and what listens to it. */
  empty(): void {
    for (const watch of this.#watches) watch.close()
    this.#watches = []
    this.worker?.close()
    this.worker = undefined
  }
}
