import type { TenonError } from '@tenon/core'
import type { RemoteWorker } from '@tenon/core/internal'
import type { CallMetrics } from './call-metrics.ts'
import type { CallQueue } from './call-queue.ts'
import { signalName } from './crash-report.ts'
import type { Settings } from './settings.ts'
import type { Timer } from './timer.ts'
import { KernelMemoryError } from './errors.ts'
import { publish } from './events.ts'
import type { Execution } from './execution.ts'
import { closedError, crashError, deadlineError, detailsOf, lostError, loopError, memoryError } from './failures.ts'
import { CrashWindow } from './restart-policy.ts'
import type { WarmUps } from './warm-ups.ts'
import type { WorkerSlot } from './worker-slot.ts'
import type { ProcessEnd } from './worker-process.ts'
import { type Ending, Worker, type WorkerListener } from './worker.ts'

/** The longest time from the start of a process to its first answer, in ms. */
export const START_TIMEOUT = 10_000

/** The longest time that this thread waits for the end of a killed process, in ms. Then its event loop waits. */
export const KILL_TIMEOUT = 50

/** The parts of the pool of the workers that the supervisor needs. */
export interface SupervisedPool extends WorkerListener {
  readonly settings: Settings
  readonly slots: readonly WorkerSlot[]
  readonly queue: CallQueue<Execution>
  readonly metrics: CallMetrics
  readonly timer: Timer
  readonly warmUps: WarmUps
  /** The time of CLOCK_MONOTONIC in ms at which `performance.now()` was 0. */
  readonly clock: number
  /** Why no worker is started any more. */
  failure: TenonError | undefined
  readonly isClosed: boolean
  release(execution: Execution): void
  rejectQueue(error: TenonError): void
  /** A worker may have answers. */
  collect(slot: WorkerSlot): void
  /** Workers or places in the queue may have become free. */
  advance(): void
}

/** Starts workers, ends them, and replaces those that ended. */
export class Supervisor {
  readonly #pool: SupervisedPool
  readonly #crashes: CrashWindow

  constructor(pool: SupervisedPool) {
    this.#pool = pool
    this.#crashes = new CrashWindow(pool.settings.restart)
  }

  /** Starts all workers for the first time. @throws {NativeError | UnsupportedError} if one cannot be started */
  startAll(): void {
    for (const slot of this.#pool.slots) this.#launch(slot, false)
  }

  /** Starts a worker again, unless a subscriber of the events before has done so. A start that fails counts as a crash. */
  start(slot: WorkerSlot): void {
    if (slot.worker !== undefined) return
    publish('restart', () => ({ worker: { index: slot.index, process: 0 }, starts: slot.starts }))
    const isCold = !this.#pool.warmUps.isEmpty
    if (slot.worker !== undefined || this.#pool.isClosed) return
    this.#pool.metrics.restarts++
    try {
      this.#launch(slot, isCold)
    } catch (error) {
      this.#crashed(slot, error, { kernel: '', isStart: true }, delayStart(slot, true))
    }
  }

  #launch(slot: WorkerSlot, isCold: boolean): void {
    const { index } = slot
    const { settings, clock, timer } = this.#pool
    const worker = new Worker(index, settings, clock, this.#pool, isCold)
    const ring = (): void => {
      worker.rang()
      this.#pool.collect(slot)
    }
    slot.take(worker, ring, () => this.ended(slot))
    publish('start', () => ({ worker: { index, process: worker.process } }))
    // The answer may have come before the eventfd was asked for.
    this.#pool.collect(slot)
    timer.by(worker.startedAt + START_TIMEOUT)
  }

  /** Warms up a worker that replaces another one, and then lets it have the calls that wait. */
  async warmUp(slot: WorkerSlot): Promise<void> {
    const { worker } = slot
    try {
      await this.#pool.warmUps.runAll(slot.index)
    } catch (error) {
      // If it has ended, the next one has a warm-up of its own.
      if (slot.worker !== worker || worker === undefined) return
      worker.warmUpFailed(error)
      this.end(slot, 'fault')
      return
    }
    if (slot.worker !== worker || worker === undefined) return
    worker.isCold = false
    this.#pool.advance()
  }

  /** Ends a worker by force. */
  end(slot: WorkerSlot, ending: Ending): void {
    const { worker } = slot
    if (worker === undefined || worker.ending !== undefined) return
    worker.ending = ending
    worker.host.kill()
    this.ended(slot, KILL_TIMEOUT)
  }

  /** Does what follows the end of a process. Ignored while it runs. @param timeout the longest wait for its end in ms */
  ended(slot: WorkerSlot, timeout = 0): void {
    const { worker } = slot
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
    if (slot.worker === worker) this.#replace(slot, worker, end)
  }

  #replace(slot: WorkerSlot, worker: Worker, end: ProcessEnd): void {
    const rest = worker.executions.splice(0)
    const isLate = worker.host.memory.isOverdue && rest[0] !== undefined && rest[0].deadlineAt < performance.now()
    if (isLate) worker.ending ??= 'deadline'
    const { ending, index, process } = worker
    // Its caller waits for the end of this call, whether the worker has taken it or not.
    const isCause = ending === 'deadline' || ending === 'memory'
    const victim = isCause || worker.hasBegun ? rest[0] : undefined
    const isCrash = ending === undefined || ending === 'fault' || ending === 'start' || ending === 'memory'
    const error = this.#errorOf(worker, victim, end)
    slot.empty()
    // A subscriber may make a synchronous call, which waits for the next worker.
    const delay = delayStart(slot, isCrash)
    publish('exit', () => ({
      worker: { index, process },
      ...(end.kind === 'exit' ? { exitCode: end.value } : { signal: signalName(end.value) }),
      ending,
    }))
    if (isCrash) publish(error instanceof KernelMemoryError ? 'memory' : 'crash', () => error.details)
    if (ending === 'deadline') publish('deadline', () => error.details)
    this.#settle(rest, victim, error, { index, process })
    if (this.#pool.isClosed) return
    const where = { kernel: victim?.call.kernel.name ?? '', isStart: !worker.isReady }
    if (isCrash) this.#crashed(slot, error, where, delay)
    else if (this.#pool.failure === undefined) this.start(slot)
    this.#pool.advance()
  }

  #errorOf(worker: Worker, victim: Execution | undefined, end: ProcessEnd): TenonError {
    const { settings } = this.#pool
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
  #settle(rest: readonly Execution[], victim: Execution | undefined, error: TenonError, worker: RemoteWorker): void {
    const { queue, metrics, isClosed, failure } = this.#pool
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
      if (execution.isSettled) this.#pool.release(execution)
    }
    for (const execution of again.toReversed()) queue.addFirst(execution)
  }

  /** Starts another worker after a crash, unless there were too many. @param delay before the start, in milliseconds */
  #crashed(
    slot: WorkerSlot,
    error: unknown,
    { kernel, isStart }: { readonly kernel: string; readonly isStart: boolean },
    delay: number,
  ): void {
    const pool = this.#pool
    if (this.#crashes.add(performance.now())) {
      pool.failure = loopError(kernel, this.#crashes.count, pool.settings.restart, error, isStart)
      publish('failed', () => pool.failure!.details)
      pool.rejectQueue(pool.failure)
      this.#pool.advance()
    } else if (delay === 0) {
      this.start(slot)
    } else {
      pool.timer.by(slot.startsAt)
    }
  }

  /** Replaces all workers, each after the calls that it has. */
  restart(): void {
    this.#pool.failure = undefined
    this.#crashes.clear()
    for (const slot of this.#pool.slots) {
      slot.backoff.clear()
      if (slot.worker === undefined) this.start(slot)
      else if (slot.worker.isIdle) this.end(slot, 'replaced')
      else slot.worker.mustReplace = true
    }
    this.#pool.advance()
  }
}

/** Only crashes are retried, and only once. */
function mayRetry(execution: Execution, { code }: TenonError): boolean {
  const isRetried = code === 'TENON_KERNEL_CRASH' && execution.isIdempotent && execution.deadlineAt > performance.now()
  return isRetried && execution.crashes++ === 0
}

/** Sets when the next worker of a place starts. @returns the delay before it in milliseconds, which only crashes have */
function delayStart(slot: WorkerSlot, isCrash: boolean): number {
  const delay = isCrash ? slot.backoff.add() : 0
  slot.startsAt = performance.now() + delay
  return delay
}
