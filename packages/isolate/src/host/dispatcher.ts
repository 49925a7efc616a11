import { briefWaits } from './brief-waits.ts'
import { residentMemory } from './call-metrics.ts'
import { Crew } from './crew.ts'
import { CANCEL_AGAIN, MEMORY_INTERVAL, nextTime, START_TIMEOUT } from './due-times.ts'
import { elapsedTime } from './elapsed-time.ts'
import { hasSubscribers, publish } from './events.ts'
import type { Execution } from './execution.ts'
import { deadlineError, detailsOf, memoryError } from './failures.ts'
import type { Seat } from './seat.ts'
import type { Settings } from './settings.ts'
import { Supervisor, type SupervisorListener } from './supervisor.ts'
import type { Answer } from './worker-call.ts'
import type { Worker } from './worker.ts'

/** Somebody who waits until the workers are ready, or have nothing to do. */
interface Waiter {
  readonly isDone: () => boolean
  readonly failure: () => Error | undefined
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/**
 * Gives calls to workers, settles them, and does what is due. It belongs to the thread that opened the workers, which runs it from
 * its event loop, and while a synchronous call waits.
 */
export class Dispatcher implements SupervisorListener {
  readonly crew: Crew
  readonly supervisor: Supervisor
  #waiters: Waiter[] = []

  constructor(settings: Settings) {
    this.crew = new Crew(settings, () => this.tick())
    this.supervisor = new Supervisor(this.crew, this)
  }

  /** Gives a call and its followers to a worker. A synchronous caller announces it itself. */
  send(seat: Seat, execution: Execution, now: number): void {
    // A call that was waited for may be over.
    if (this.#send(seat, execution, now)) this.advance()
  }

  /** @returns whether the answers of the worker were read meanwhile. */
  #send(seat: Seat, execution: Execution, now: number): boolean {
    const worker = seat.worker!
    worker.add(execution, now)
    if (!execution.isAsync) return false
    const isWaitedFor = briefWaits.wait(worker, execution)
    if (isWaitedFor) this.#read(seat)
    else if (worker.post()) setImmediate(() => this.collect(seat))
    if (!execution.isSettled && this.crew.watchesMemory) this.crew.alarm.by(now + MEMORY_INTERVAL)
    return isWaitedFor
  }

  advance(): void {
    const { queue, seats } = this.crew
    if (queue.length > 0) for (const seat of seats) this.#sendNext(seat)
    if (this.#waiters.length > 0) this.#answerWaiters()
  }

  /** Gives a worker calls of the queue, also those for which one that was waited for has left room. */
  #sendNext(seat: Seat): void {
    while (seat.isFree) {
      const execution = this.crew.queue.take(seat.index)
      if (execution === undefined) return
      this.#send(seat, execution, performance.now())
    }
  }

  collect(seat: Seat): void {
    this.#read(seat)
    this.advance()
  }

  /** Reads the answers of a worker, and ends it if it is to be replaced. */
  #read(seat: Seat): void {
    const { worker } = seat
    if (worker === undefined || worker.isEnded) return
    if (worker.collect()) setImmediate(() => this.collect(seat))
    if (seat.worker !== worker) return
    const mustReplace = seat.mustReplace || worker.calls >= this.crew.settings.recycle
    if (worker.fault !== undefined) this.supervisor.end(seat, 'fault')
    else if (mustReplace && worker.isIdle && worker.isReady) this.supervisor.end(seat, 'replaced')
  }

  // --- As the listener of workers

  ready({ index, process, startedAt }: Worker): void {
    publish('ready', () => ({ worker: { index, process }, elapsed: elapsedTime(startedAt, performance.now()) }))
    // The time of a call that was given up meanwhile begins now.
    this.crew.alarm.by(nextTime(this.crew))
  }

  succeeded(worker: Worker, execution: Execution, value: unknown, nativeTime: number): void {
    this.crew.metrics.answered(nativeTime)
    execution.known!.pace.answered(nativeTime)
    if (execution.cancelledAt === 0) {
      execution.resolve(value)
      this.crew.seats[worker.index]!.backoff.clear()
    } else {
      this.#rejectLate(execution, 'cancelled', worker)
    }
    this.#over(worker, execution)
  }

  broke(worker: Worker, execution: Execution, error: unknown): void {
    execution.reject(error)
    this.#over(worker, execution)
  }

  failed(worker: Worker, execution: Execution, answer: Answer): void {
    this.crew.metrics.answered(answer.nativeTime)
    // A kernel may find the deadline missed before this thread does.
    const isLate = execution.cancelledAt !== 0 || performance.now() >= execution.deadlineAt
    if (isLate) this.#rejectLate(execution, 'cancelled', worker)
    else if (!execution.isSettled) execution.reject(this.#failureOf(worker, execution, answer))
    this.#over(worker, execution)
  }

  #rejectLate(execution: Execution, stage: 'queued' | 'cancelled', worker?: Worker): void {
    if (execution.isSettled) return
    const isRestarting = this.crew.seats.every((seat) => seat.worker === undefined)
    const error = deadlineError(execution, stage, performance.now(), worker, isRestarting)
    publish('deadline', () => error.details)
    execution.reject(error)
  }

  #failureOf(worker: Worker, execution: Execution, answer: Answer): unknown {
    const details = detailsOf(worker, execution)
    const { memory } = this.crew.settings
    const { refusedBytes } = worker.host.memory
    try {
      const failure = execution.call.failure(answer, details)
      if (memory === 0 || refusedBytes === 0) return failure
      const error = memoryError(execution, details, memory, { refusedBytes }, failure)
      publish('memory', () => error.details)
      return error
    } catch (error) {
      return error
    }
  }

  /** A worker has answered a call whose outcome is known. */
  #over(worker: Worker, execution: Execution): void {
    if (hasSubscribers('output') && worker.host.memory.outputTotal !== execution.outputMark) {
      publish('output', () => ({ ...detailsOf(worker, execution) }))
    }
    this.crew.release(execution)
  }

  // --- Time

  /** Does what is due: deadlines, ends by force, and starts. */
  tick(): void {
    const { crew } = this
    if (crew.isClosed) return
    const now = performance.now()
    for (const queued of crew.queue) this.#tickQueued(queued, now)
    for (const seat of crew.seats) {
      if (seat.worker !== undefined) this.#tickWorker(seat, seat.worker, now)
      else if (seat.startsAt <= now && crew.failure === undefined) this.supervisor.start(seat)
    }
    this.advance()
    crew.alarm.set(nextTime(crew))
  }

  #tickQueued(queued: Execution, now: number): void {
    for (const execution of queued.group()) {
      if (execution.isSettled || execution.deadlineAt > now) continue
      this.#rejectLate(execution, 'queued')
      this.crew.dequeue(execution)
    }
  }

  #tickWorker(seat: Seat, worker: Worker, now: number): void {
    if (worker.ending !== undefined) return
    // A synchronous call waits for its own answer, so nobody may have read that of the start.
    if (!worker.isReady) this.collect(seat)
    if (seat.worker !== worker || worker.ending !== undefined) return
    if (!worker.isReady && now >= worker.startedAt + START_TIMEOUT) return this.supervisor.end(seat, 'start')
    const [current] = worker.executions
    if (current === undefined) return
    for (const execution of worker.executions) {
      if (execution.cancelledAt !== 0 || execution.deadlineAt > now) continue
      execution.cancelledAt = now
      // A call that has begun is settled when it returns or is killed.
      if (execution !== current || !worker.isReady) this.#rejectLate(execution, 'queued', worker)
    }
    if (current.cancelledAt !== 0) {
      worker.host.cancel(current.id)
      if (now >= worker.endOf(current, this.crew.settings.grace)) {
        return this.supervisor.end(seat, current.isSettled ? 'abort' : 'deadline')
      }
    }
    if (this.crew.watchesMemory) this.#watchMemory(seat, worker)
  }

  #watchMemory(seat: Seat, worker: Worker): void {
    const { rssAnon = 0 } = residentMemory(worker.process)
    if (rssAnon <= this.crew.settings.memory) return
    worker.used = rssAnon
    this.supervisor.end(seat, 'memory')
  }

  /** Takes a call back that its caller has aborted. */
  aborted(execution: Execution, reason: unknown): void {
    if (execution.isSettled) return
    const isQueued = execution.place < 0
    execution.reject(reason)
    if (isQueued) return this.crew.dequeue(execution)
    execution.cancelledAt = performance.now()
    const worker = this.crew.seats[execution.place]!.worker!
    if (worker.executions[0] === execution) worker.host.cancel(execution.id)
    this.crew.alarm.by(execution.cancelledAt + CANCEL_AGAIN)
  }

  // --- Waiting

  /** Resolves when `isDone` is true. @throws what `failure` returns, if it returns an error before */
  async until(isDone: () => boolean, failure: () => Error | undefined): Promise<void> {
    this.crew.alarm.wait()
    try {
      await new Promise<void>((resolve, reject) => {
        this.#waiters.push({ isDone, failure, resolve, reject })
        this.#answerWaiters()
      })
    } finally {
      this.crew.alarm.done()
    }
  }

  #answerWaiters(): void {
    this.#waiters = this.#waiters.filter(({ isDone, failure, resolve, reject }) => {
      if (isDone()) {
        resolve()
        return false
      }
      const error = failure()
      if (error !== undefined) reject(error)
      return error === undefined
    })
  }

  /** Ends all workers at once, and rejects what they had. */
  close(): void {
    this.crew.close()
    this.#answerWaiters()
  }
}
