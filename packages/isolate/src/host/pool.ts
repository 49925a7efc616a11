import type { TenonError } from '@tenon/core'
import { type RemoteAnswer } from '@tenon/core/internal'
import { briefWaits } from './brief-waits.ts'
import { CallMetrics, residentMemory } from './call-metrics.ts'
import { CallQueue } from './call-queue.ts'
import { outputChannel, publish } from './events.ts'
import type { Execution } from './execution.ts'
import { closedError, deadlineError, detailsOf, elapsedTime, goneError, isExhausted, memoryError } from './failures.ts'
import type { Settings } from './settings.ts'
import { START_TIMEOUT, Supervisor, type SupervisedPool } from './supervisor.ts'
import { clockOffset, Timer } from './timer.ts'
import { WarmUps } from './warm-ups.ts'
import { WorkerSlot } from './worker-slot.ts'
import type { Worker } from './worker.ts'

/** The time between two requests to cancel the same call, in ms, because the worker may not have taken it yet. */
const CANCEL_AGAIN = 10
/** The time between two looks at the memory of a worker, in ms. */
const MEMORY_INTERVAL = 50

/** Somebody who waits until the workers are ready, or have nothing to do. */
interface Waiter {
  readonly isDone: () => boolean
  readonly failure: () => Error | undefined
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/**
 * The workers of a library and the calls that wait for them. The pool gives calls to workers, settles them, and does what is due. It belongs
 * to the thread that opened the workers, which runs it from its event loop, and while a synchronous call waits.
 */
export class Pool implements SupervisedPool {
  readonly settings: Settings
  readonly slots: readonly WorkerSlot[]
  readonly queue: CallQueue<Execution>
  readonly metrics: CallMetrics = new CallMetrics()
  readonly timer: Timer
  /** The time of CLOCK_MONOTONIC in ms at which `performance.now()` was 0. */
  readonly clock: number
  readonly warmUps: WarmUps = new WarmUps()
  /** Why no worker is started any more. */
  failure: TenonError | undefined
  isClosed = false

  readonly supervisor: Supervisor
  #waiters: Waiter[] = []

  constructor(settings: Settings) {
    this.settings = settings
    this.slots = Array.from({ length: settings.workers }, (_, index) => new WorkerSlot(index, settings.restart))
    this.queue = new CallQueue(settings.workers)
    this.timer = new Timer(() => this.tick())
    this.clock = clockOffset()
    this.failure = undefined
    this.supervisor = new Supervisor(this)
  }

  /** Whether the memory of workers is looked at, because the system does not limit it. */
  get watchesMemory(): boolean {
    return this.settings.host === 'node' && this.settings.memory > 0
  }

  /** The number of calls in workers. */
  get running(): number {
    return this.slots.reduce((sum, { worker }) => sum + (worker?.executions.length ?? 0), 0)
  }

  /** Returns a worker that can get a call at once: the one that has had the fewest calls. */
  freeSlot(execution: Execution): WorkerSlot | undefined {
    const { workerIndex: only } = execution
    let best: WorkerSlot | undefined
    for (const slot of this.slots) {
      const { index, worker } = slot
      if ((only >= 0 && only !== index) || worker?.canTake(execution) !== true) continue
      if (best === undefined || worker.calls < best.worker!.calls) best = slot
    }
    return best
  }

  /** @internal Leaves the operands of a call. An error of a function of the caller does not reach other calls. */
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

  /** Gives a call and its followers to a worker. A synchronous caller announces it itself. */
  send(slot: WorkerSlot, execution: Execution, now: number): void {
    // A call that was waited for may be over.
    if (this.#send(slot, execution, now)) this.advance()
  }

  /** @returns whether the answers of the worker were read meanwhile. */
  #send(slot: WorkerSlot, execution: Execution, now: number): boolean {
    const worker = slot.worker!
    const { worker: needed } = execution.call
    if (needed !== undefined && needed.process !== worker.process) {
      execution.reject(goneError(execution, needed))
      this.release(execution)
      return false
    }
    worker.add(execution, now)
    if (!execution.isAsync) return false
    const isWaitedFor = briefWaits.wait(worker, execution)
    if (isWaitedFor) this.#read(slot)
    else if (worker.post()) setImmediate(() => this.collect(slot))
    if (!execution.isSettled && this.watchesMemory) this.timer.by(now + MEMORY_INTERVAL)
    return isWaitedFor
  }

  advance(): void {
    const { queue, slots } = this
    if (queue.length > 0) for (const slot of slots) this.#sendNext(slot)
    if (this.#waiters.length > 0) this.#answerWaiters()
  }

  /** Gives a worker calls of the queue, also those for which one that was waited for has left room. */
  #sendNext(slot: WorkerSlot): void {
    while (slot.worker?.isFree === true) {
      const mayTake = !slot.worker.isCold || this.warmUps.blockingCalls > 0
      const execution = this.queue.takeWarmUp(slot.index) ?? (mayTake ? this.queue.take(slot.index) : undefined)
      if (execution === undefined) return
      this.#send(slot, execution, performance.now())
    }
  }

  collect(slot: WorkerSlot): void {
    this.#read(slot)
    this.advance()
  }

  /** Reads the answers of a worker, and ends it if it is to be replaced. */
  #read(slot: WorkerSlot): void {
    const { worker } = slot
    if (worker === undefined || worker.isEnded) return
    if (worker.collect()) setImmediate(() => this.collect(slot))
    if (slot.worker !== worker) return
    const mustReplace = worker.mustReplace || worker.calls >= this.settings.recycle
    if (worker.fault !== undefined) this.supervisor.end(slot, 'fault')
    else if (mustReplace && worker.isIdle && worker.isReady) this.supervisor.end(slot, 'replaced')
  }

  // --- As the listener of workers

  ready(worker: Worker, isFiltered: boolean): void {
    const { index, process, startedAt } = worker
    const mustFilter = this.settings.sandbox === 'default' && this.settings.host === 'native'
    if (!isFiltered && mustFilter) publish('unfiltered', () => ({ worker: { index, process } }))
    publish('ready', () => ({ worker: { index, process }, elapsed: elapsedTime(startedAt, performance.now()) }))
    // The time of a call that was given up meanwhile begins now.
    this.timer.by(this.nextTime)
    if (worker.isCold) void this.supervisor.warmUp(this.slots[index]!)
  }

  succeeded(worker: Worker, execution: Execution, value: unknown, nativeTime: number): void {
    this.metrics.answered(nativeTime)
    execution.known!.pace.answered(nativeTime)
    execution.nativeTime = nativeTime
    if (execution.cancelledAt === 0) {
      execution.resolve(value)
      const { backoff } = this.slots[worker.index]!
      if (backoff.crashes > 0) backoff.clear()
    } else {
      this.#rejectLate(execution, 'cancelled', worker)
    }
    this.#over(worker, execution)
  }

  loaded(worker: Worker, execution: Execution, answer: RemoteAnswer): void {
    if (execution.cancelledAt !== 0) this.#rejectLate(execution, 'cancelled', worker)
    else if (answer.status === 0) execution.resolve(undefined)
    else execution.reject(this.#failureOf(worker, execution, answer))
    this.#over(worker, execution)
  }

  broke(worker: Worker, execution: Execution, error: unknown): void {
    execution.reject(error)
    this.#over(worker, execution)
  }

  failed(worker: Worker, execution: Execution, answer: RemoteAnswer): void {
    if (this.#gaveBack(worker, execution, answer)) return
    this.metrics.answered(answer.nativeTime)
    execution.nativeTime = answer.nativeTime
    // A kernel may find the deadline missed before this thread does.
    const isLate = execution.cancelledAt !== 0 || performance.now() >= execution.deadlineAt
    if (isLate) this.#rejectLate(execution, 'cancelled', worker)
    else if (!execution.isSettled) execution.reject(this.#failureOf(worker, execution, answer))
    this.#over(worker, execution)
  }

  /**
   * Replaces a worker that has run out of descriptors, address space or memory, because earlier calls have left too little.
   *
   * @returns whether the call, which had not begun, waits for another worker.
   */
  #gaveBack(worker: Worker, execution: Execution, answer: RemoteAnswer): boolean {
    if (worker.isFirstCall || !isExhausted(execution, answer)) return false
    worker.mustReplace = true
    if (execution.isSettled || execution.cancelledAt !== 0 || answer.nativeTime !== 0) return false
    if (execution.losses++ > 0) return false
    execution.leaveWorker()
    this.queue.addFirst(execution)
    return true
  }

  #rejectLate(execution: Execution, stage: 'queued' | 'cancelled', worker?: Worker): void {
    if (execution.isSettled) return
    const isRestarting = this.slots.every((slot) => slot.worker === undefined)
    const error = deadlineError(execution, stage, performance.now(), worker, isRestarting)
    publish('deadline', () => error.details)
    execution.reject(error)
  }

  #failureOf(worker: Worker, execution: Execution, answer: RemoteAnswer): unknown {
    const details = detailsOf(worker, execution)
    const { memory } = this.settings
    const { refusedBytes } = worker.host.memory
    try {
      const failure = execution.call.failure(answer, details)
      if (memory === 0 || refusedBytes === 0) return failure
      const error = memoryError(execution, details, memory, { refusedBytes }, failure)
      publish('memory', () => error.details)
      // Another worker has free what earlier calls have kept.
      if (!worker.isFirstCall) worker.mustReplace = true
      return error
    } catch (error) {
      return error
    }
  }

  /** A worker has answered a call whose outcome is known. */
  #over(worker: Worker, execution: Execution): void {
    if (outputChannel.hasSubscribers && worker.host.memory.outputTotal !== execution.outputMark) {
      publish('output', () => ({ ...detailsOf(worker, execution) }))
    }
    this.release(execution)
  }

  // --- Time

  /** Does what is due: deadlines, ends by force, and starts. */
  tick(): void {
    if (this.isClosed) return
    const now = performance.now()
    for (const queued of this.queue) this.#tickQueued(queued, now)
    for (const slot of this.slots) {
      if (slot.worker !== undefined) this.#tickWorker(slot, slot.worker, now)
      else if (slot.startsAt <= now && this.failure === undefined) this.supervisor.start(slot)
    }
    this.advance()
    this.timer.set(this.nextTime)
  }

  #tickQueued(queued: Execution, now: number): void {
    for (const execution of queued.group()) {
      if (execution.isSettled || execution.deadlineAt > now) continue
      this.#rejectLate(execution, 'queued')
      this.dequeue(execution)
    }
  }

  #tickWorker(slot: WorkerSlot, worker: Worker, now: number): void {
    if (worker.ending !== undefined) return
    // A synchronous call waits for its own answer, so nobody may have read that of the start.
    if (!worker.isReady) this.collect(slot)
    if (slot.worker !== worker || worker.ending !== undefined) return
    if (!worker.isReady && now >= worker.startedAt + START_TIMEOUT) return this.supervisor.end(slot, 'start')
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
      if (now >= worker.endOf(current, this.settings.grace)) {
        return this.supervisor.end(slot, current.isSettled ? 'abort' : 'deadline')
      }
    }
    if (this.watchesMemory) this.#watchMemory(slot, worker)
  }

  #watchMemory(slot: WorkerSlot, worker: Worker): void {
    const { rssAnon = 0 } = residentMemory(worker.process)
    if (rssAnon <= this.settings.memory) return
    worker.used = rssAnon
    this.supervisor.end(slot, 'memory')
  }

  /** Takes a call back that its caller has aborted. */
  aborted(execution: Execution, reason: unknown): void {
    if (execution.isSettled) return
    const isQueued = execution.place < 0
    execution.reject(reason)
    if (isQueued) return this.dequeue(execution)
    execution.cancelledAt = performance.now()
    const worker = this.slots[execution.place]!.worker!
    if (worker.executions[0] === execution) worker.host.cancel(execution.id)
    this.timer.by(execution.cancelledAt + CANCEL_AGAIN)
  }

  /** When the next thing is due, in ms of `performance.now()`. */
  get nextTime(): number {
    let next = Infinity
    for (const queued of this.queue) {
      for (const execution of queued.group()) {
        if (!execution.isSettled) next = Math.min(next, execution.deadlineAt)
      }
    }
    for (const slot of this.slots) next = Math.min(next, this.#timeOf(slot))
    return next
  }

  #timeOf({ worker, startsAt }: WorkerSlot): number {
    if (worker === undefined) return this.failure === undefined ? startsAt : Infinity
    let next = worker.isReady ? Infinity : worker.startedAt + START_TIMEOUT
    if (worker.ending !== undefined) return next
    for (const execution of worker.executions) {
      if (execution.cancelledAt === 0) next = Math.min(next, execution.deadlineAt)
    }
    const [current] = worker.executions
    if (current === undefined) return next
    const now = performance.now()
    if (current.cancelledAt !== 0) next = Math.min(next, worker.endOf(current, this.settings.grace), now + CANCEL_AGAIN)
    return this.watchesMemory ? Math.min(next, now + MEMORY_INTERVAL) : next
  }

  // --- Waiting

  /** Resolves when `isDone` is true. @throws what `failure` returns, if it returns an error before */
  async until(isDone: () => boolean, failure: () => Error | undefined): Promise<void> {
    this.timer.wait()
    try {
      await new Promise<void>((resolve, reject) => {
        this.#waiters.push({ isDone, failure, resolve, reject })
        this.#answerWaiters()
      })
    } finally {
      this.timer.done()
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
    this.isClosed = true
    this.rejectQueue(closedError())
    for (const slot of this.slots) {
      const { worker } = slot
      const rest = worker?.executions.splice(0) ?? []
      slot.empty()
      if (worker !== undefined) {
        const { index, process } = worker
        publish('exit', () => ({ worker: { index, process }, ending: 'closed' }))
      }
      for (const execution of rest) {
        execution.reject(closedError())
        this.release(execution)
      }
    }
    this.timer.close()
    this.#answerWaiters()
  }
}
