import type { TenonError } from '@tenon/core'
import type { Crew } from './crew.ts'
import { signalName } from './crash-report.ts'
import { START_TIMEOUT } from './due-times.ts'
import { KernelMemoryError } from './errors.ts'
import { publish } from './events.ts'
import type { Execution } from './execution.ts'
import { closedError, crashError, deadlineError, detailsOf, lostError, loopError, memoryError } from './failures.ts'
import { CrashWindow } from './restart-policy.ts'
import type { Seat } from './seat.ts'
import type { WorkerIdentity } from './worker-call.ts'
import type { ProcessEnd } from './worker-process.ts'
import { type Ending, Worker, type WorkerListener } from './worker.ts'

/** The longest time that this thread waits for the end of a killed process, in ms. Then its event loop waits. */
export const KILL_TIMEOUT = 50

/** What the supervisor needs from the dispatcher. */
export interface SupervisorListener extends WorkerListener {
  /** A worker may have answers. */
  collect(seat: Seat): void
  /** Workers or places in the queue may have become free. */
  advance(): void
}

/** Starts workers, ends them, and replaces those that ended. */
export class Supervisor {
  readonly #crew: Crew
  readonly #listener: SupervisorListener
  readonly #crashes: CrashWindow

  constructor(crew: Crew, listener: SupervisorListener) {
    this.#crew = crew
    this.#listener = listener
    this.#crashes = new CrashWindow(crew.settings.restart)
  }

  /** Starts all workers for the first time. @throws {NativeError | UnsupportedError} if one cannot be started */
  startAll(): void {
    for (const seat of this.#crew.seats) this.#launch(seat)
  }

  /** Starts a worker again, unless a subscriber of the events before has done so. A start that fails counts as a crash. */
  start(seat: Seat): void {
    if (seat.worker !== undefined) return
    publish('restart', () => ({ worker: { index: seat.index, process: 0 }, starts: seat.starts }))
    if (seat.worker !== undefined || this.#crew.isClosed) return
    this.#crew.metrics.restarts++
    try {
      this.#launch(seat)
    } catch (error) {
      this.#crashed(seat, error, '', delayStart(seat, true))
    }
  }

  #launch(seat: Seat): void {
    const { index } = seat
    const { settings, clock, alarm } = this.#crew
    const worker = new Worker(index, settings, clock, this.#listener)
    const ring = (): void => {
      worker.rang()
      this.#listener.collect(seat)
    }
    seat.take(worker, ring, () => this.ended(seat))
    publish('start', () => ({ worker: { index, process: worker.process } }))
    // The answer may have come before the doorbell was asked for.
    this.#listener.collect(seat)
    alarm.by(worker.startedAt + START_TIMEOUT)
  }

  /** Ends a worker by force. */
  end(seat: Seat, ending: Ending): void {
    const { worker } = seat
    if (worker === undefined || worker.ending !== undefined) return
    worker.ending = ending
    worker.host.kill()
    this.ended(seat, KILL_TIMEOUT)
  }

  /** Does what follows the end of a process. Ignored while it runs. @param timeout the longest wait for its end in ms */
  ended(seat: Seat, timeout = 0): void {
    const { worker } = seat
    if (worker === undefined) return
    let end = worker.host.reap(timeout)
    if (end === undefined && timeout > 0) {
      // The main thread has exited, but other threads keep the process alive.
      worker.host.kill()
      end = worker.host.reap(timeout)
    }
    if (end === undefined) return
    worker.collectLast()
    // Reading an answer may have made calls, which found the end first.
    if (seat.worker === worker) this.#replace(seat, worker, end)
  }

  #replace(seat: Seat, worker: Worker, end: ProcessEnd): void {
    const rest = worker.executions.splice(0)
    const isLate = worker.host.memory.isOverdue && rest[0] !== undefined && rest[0].deadlineAt < performance.now()
    if (isLate) worker.ending ??= 'deadline'
    const { ending, index, process } = worker
    // Its caller waits for the end of this call, whether the worker has taken it or not.
    const isCause = ending === 'deadline' || ending === 'memory'
    const victim = isCause || worker.hasBegun ? rest[0] : undefined
    const isCrash = ending === undefined || ending === 'fault' || ending === 'start' || ending === 'memory'
    const error = this.#errorOf(worker, victim, end)
    seat.empty()
    // A subscriber may make a synchronous call, which waits for the next worker.
    const delay = delayStart(seat, isCrash)
    publish('exit', () => ({
      worker: { index, process },
      ...(end.kind === 'exit' ? { exitCode: end.value } : { signal: signalName(end.value) }),
      ending,
    }))
    if (isCrash) publish(error instanceof KernelMemoryError ? 'memory' : 'crash', () => error.details)
    if (ending === 'deadline') publish('deadline', () => error.details)
    this.#settle(rest, victim, error, { index, process })
    if (this.#crew.isClosed) return
    if (isCrash) this.#crashed(seat, error, victim?.call.kernel.name ?? '', delay)
    else if (this.#crew.failure === undefined) this.start(seat)
    this.#listener.advance()
  }

  #errorOf(worker: Worker, victim: Execution | undefined, end: ProcessEnd): TenonError {
    const { settings } = this.#crew
    const { ending, used } = worker
    if (ending === 'deadline' && victim !== undefined) {
      return deadlineError(victim, 'killed', performance.now(), worker)
    }
    if (ending === 'memory' && victim !== undefined) {
      return memoryError(victim, detailsOf(worker, victim), settings.memory, { used })
    }
    return crashError(worker, victim, end, settings)
  }

  /** Settles the calls that a worker had when it ended, or gives them to another one. */
  #settle(rest: readonly Execution[], victim: Execution | undefined, error: TenonError, worker: WorkerIdentity): void {
    const { queue, metrics, isClosed, failure } = this.#crew
    const again: Execution[] = []
    for (const execution of rest) {
      execution.leaveWorker()
      if (execution.isSettled) {
        // Its caller has taken it back.
      } else if (isClosed) {
        execution.reject(closedError())
      } else if (failure === undefined && execution !== victim && execution.losses++ === 0) {
        again.push(execution)
      } else if (execution !== victim) {
        execution.reject(lostError(execution, { worker }, error))
      } else if (failure === undefined && mayRetry(execution, error)) {
        metrics.retries++
        again.push(execution)
      } else {
        execution.reject(error)
      }
      if (execution.isSettled) this.#crew.release(execution)
    }
    for (const execution of again.toReversed()) queue.addFirst(execution)
  }

  /** Starts another worker after a crash, unless there were too many. @param delay before the start, in milliseconds */
  #crashed(seat: Seat, error: unknown, kernel: string, delay: number): void {
    const crew = this.#crew
    if (this.#crashes.add(performance.now())) {
      crew.failure = loopError(kernel, this.#crashes.count, crew.settings.restart, error)
      publish('failed', () => crew.failure!.details)
      crew.rejectQueue(crew.failure)
      this.#listener.advance()
    } else if (delay === 0) {
      this.start(seat)
    } else {
      crew.alarm.by(seat.startsAt)
    }
  }

  /** Replaces all workers, each after the calls that it has. */
  restart(): void {
    this.#crew.failure = undefined
    this.#crashes.clear()
    for (const seat of this.#crew.seats) {
      seat.backoff.clear()
      if (seat.worker === undefined) this.start(seat)
      else if (seat.worker.isIdle) this.end(seat, 'replaced')
      else seat.mustReplace = true
    }
    this.#listener.advance()
  }
}

/** Only crashes are retried, and only once. */
function mayRetry(execution: Execution, { code }: TenonError): boolean {
  const isRetried = code === 'TENON_KERNEL_CRASH' && execution.isIdempotent && execution.deadlineAt > performance.now()
  return isRetried && execution.crashes++ === 0
}

/** Sets when the next worker of a place starts. @returns the delay before it in milliseconds, which only crashes have */
function delayStart(seat: Seat, isCrash: boolean): number {
  const delay = isCrash ? seat.backoff.add() : 0
  seat.startsAt = performance.now() + delay
  return delay
}
