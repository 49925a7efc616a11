import { coreFunctions } from '@tenon/core/internal'
import type { TenonError } from '@tenon/core'
import { Alarm } from './alarm.ts'
import { CallMetrics } from './call-metrics.ts'
import { CallQueue } from './call-queue.ts'
import { publish } from './events.ts'
import type { Execution } from './execution.ts'
import { closedError } from './failures.ts'
import { Seat } from './seat.ts'
import type { Settings } from './settings.ts'

/** A little more than the difference, so that no worker finds a deadline missed before this process does. */
function clockOffset(): number {
  let least = Infinity
  for (let round = 0; round < 3; round++) {
    const before = performance.now()
    least = Math.min(least, Number(coreFunctions().tn_host_now()) / 1e6 - before)
  }
  return least
}

/** The workers of a library, the calls that wait for them, and what was counted. */
export class Crew {
  readonly settings: Settings
  readonly seats: readonly Seat[]
  readonly queue: CallQueue<Execution>
  readonly metrics: CallMetrics = new CallMetrics()
  readonly alarm: Alarm
  /** The time of CLOCK_MONOTONIC in ms at which `performance.now()` was 0. */
  readonly clock: number
  /** Why no worker is started any more. */
  failure: TenonError | undefined
  isClosed = false

  /** @param ring is called when something is due. */
  constructor(settings: Settings, ring: () => void) {
    this.settings = settings
    this.seats = Array.from({ length: settings.workers }, (_, index) => new Seat(index, settings.restart))
    this.queue = new CallQueue(settings.workers)
    this.alarm = new Alarm(ring)
    this.clock = clockOffset()
    this.failure = undefined
  }

  /** Whether the memory of workers is looked at, because the system does not limit it. */
  get watchesMemory(): boolean {
    return this.settings.host === 'node' && this.settings.memory > 0
  }

  /** The number of calls in workers. */
  get running(): number {
    return this.seats.reduce((sum, { worker }) => sum + (worker?.executions.length ?? 0), 0)
  }

  /** Returns a worker that can get a call at once: the one that has had the fewest calls. @param only its place, or -1 for any */
  freeSeat(only: number): Seat | undefined {
    if (only >= 0) return this.seats[only]!.isFree ? this.seats[only] : undefined
    let best: Seat | undefined
    for (const seat of this.seats) {
      if (seat.isFree && (best === undefined || seat.worker!.calls < best.worker!.calls)) best = seat
    }
    return best
  }

  /** Leaves the operands of a call. An error of a function of the caller does not reach other calls. */
  release(execution: Execution): void {
    try {
      execution.release()
    } catch (error) {
      queueMicrotask(() => {
        throw error
      })
    }
  }

  /** Forgets a call that is settled, and waits in the queue or follows one that does. */
  dequeue(execution: Execution): void {
    if (execution.follower === undefined && this.queue.has(execution)) this.queue.remove(execution)
    this.release(execution)
  }

  /** Rejects all calls of the queue. */
  rejectQueue(error: TenonError): void {
    for (const queued of this.queue) {
      this.queue.remove(queued)
      for (const execution of queued.group()) {
        execution.reject(error)
        this.release(execution)
      }
    }
  }

  /** Ends all workers at once, and rejects what they had. */
  close(): void {
    this.isClosed = true
    this.rejectQueue(closedError())
    for (const seat of this.seats) {
      const { worker } = seat
      const rest = worker?.executions.splice(0) ?? []
      seat.empty()
      if (worker !== undefined) {
        const { index, process } = worker
        publish('exit', () => ({ worker: { index, process }, ending: 'closed' }))
      }
      for (const execution of rest) {
        execution.reject(closedError())
        this.release(execution)
      }
    }
    this.alarm.close()
  }
}
