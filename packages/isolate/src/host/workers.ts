import type { CallTrace } from '@tenon/core'
import {
  callNamed,
  checkOptions,
  inspectAsText,
  isMainThread,
  isTraced,
  LONGEST_TIMER,
  profiling,
  traceCall,
  traceLater,
  type RemoteKernel,
  type RemoteWorker,
} from '@tenon/core/internal'
import { runBatch } from './batch.ts'
import { workerIndexOf } from './call-queue.ts'
import { Pool } from './pool.ts'
import { traceOf } from './call-traces.ts'
import { Execution } from './execution.ts'
import { closedError, fullError, stuckError } from './failures.ts'
import type { CloseOptions, IsolateHealth, IsolateMetrics, WorkersOptions } from './options.ts'
import { KILL_TIMEOUT } from './supervisor.ts'
import type { WarmUp } from './warm-ups.ts'
import { healthOf } from './worker-health.ts'
import type { WorkerSlot } from './worker-slot.ts'
import { checkCallOptions, checkDuration, checkSettings, type Settings } from './settings.ts'
import type { WorkerCall } from './worker-call.ts'
import { waitForAny } from './worker-process.ts'

/**
 * Processes that run kernels, and the calls that wait for them. They belong to the thread that opened them. A process that ends is
 * replaced.
 */
export class Workers implements AsyncDisposable {
  readonly #pool: Pool
  readonly #settings: Settings
  #nextId = 1
  #closing: Promise<void> | undefined

  static {
    inspectAsText(this)
  }

  private constructor(settings: Settings) {
    this.#settings = settings
    this.#pool = new Pool(settings)
  }

  /**
   * Starts the workers, and waits until all are ready.
   *
   * @throws {ArgumentError} if an option is not valid. @throws {UnsupportedError} on systems without workers.
   * @throws {CrashLoopError} if the workers cannot be started.
   */
  static async open(options?: WorkersOptions): Promise<Workers> {
    const workers = new Workers(checkSettings(options))
    const pool = workers.#pool
    try {
      pool.supervisor.startAll()
      await pool.until(
        () => pool.slots.every(({ worker }) => worker?.isReady === true),
        () => pool.failure,
      )
      return workers
    } catch (error) {
      pool.close()
      throw error
    }
  }

  /** Whether calls are accepted. It is false from the moment closing begins. */
  get isAlive(): boolean {
    return this.#closing === undefined
  }

  /**
   * Runs a call, and blocks this thread until it is over. Calls of workers to functions of this thread are served meanwhile, and
   * nothing else.
   *
   * @throws {IsolationError} if the call did not finish. @throws {QueueFullError} if too many calls wait.
   * @throws {ScopeClosedError} if the workers or an operand are closed.
   */
  run<T>(call: WorkerCall<T>): T {
    if (!isTraced()) return this.#run(call, undefined)
    const trace = traceOf(call, false)
    return traceCall(trace, () => this.#run(call, trace))
  }

  #run<T>(call: WorkerCall<T>, trace: CallTrace | undefined): T {
    const execution = this.#admit(call, false, trace)
    const pool = this.#pool
    this.#begin(execution as Execution)
    if (profiling) callNamed(call.kernel.name, waitForCall, pool, execution as Execution)
    else waitForCall(pool, execution as Execution)
    pool.metrics.settled(execution as Execution, performance.now())
    return execution.take()
  }

  /**
   * As {@link run}, but the event loop continues. It waits for short kernels for a moment, because that takes less time than to be woken
   * by their answers. The promise rejects with what `run` throws, or with the reason of the signal.
   */
  runAsync<T>(call: WorkerCall<T>): Promise<T> {
    try {
      if (!isTraced()) return this.#runAsync(call, undefined)
      const trace = traceOf(call, true)
      return traceLater(trace, () => this.#runAsync(call, trace))
    } catch (error) {
      return Promise.reject(error as Error)
    }
  }

  #runAsync<T>(call: WorkerCall<T>, trace: CallTrace | undefined): Promise<T> {
    const execution = this.#admit(call, true, trace)
    this.#submit(execution as Execution)
    return this.#outcomeOf(execution)
  }

  /**
   * Runs several calls. The workers get up to 32 of them at once, which costs one wake-up. A crash fails the call that ran, and
   * those that had not begun run in another worker.
   *
   * @returns the outcomes in the order of the calls, as of `Promise.allSettled`
   */
  async runBatch<T>(calls: readonly WorkerCall<T>[]): Promise<PromiseSettledResult<T>[]> {
    return runBatch(calls, this.#settings.workers, {
      admit: (call, trace) => this.#admit(call, true, trace),
      submit: (execution) => this.#submit(execution),
      outcomeOf: (execution) => this.#outcomeOf(execution),
    })
  }

  /**
   * Loads the library of a kernel in all workers, first in one, and then in the others.
   *
   * @param call describes the library, its deadline, and its errors.
   * @throws (rejects with) {LoadError} if it cannot be loaded. @throws (rejects with) {IsolationError} if a worker ends meanwhile.
   */
  async load(call: WorkerCall<void>): Promise<void> {
    const [first, ...others] = this.#pool.slots
    await this.#loadIn(first!, call)
    await Promise.all(others.map((slot) => this.#loadIn(slot, call)))
  }

  async #loadIn({ index }: WorkerSlot, call: WorkerCall<void>): Promise<void> {
    this.#checkAlive()
    const pool = this.#pool
    if (pool.failure !== undefined) throw pool.failure
    const { deadline = this.#settings.deadline } = call
    const settings = { deadline, isIdempotent: false, isAsync: true, isLoad: true, isWarmUp: true }
    const execution = new Execution(call, this.#nextId++, index, settings, performance.now())
    this.#submit(execution as Execution)
    await pool.until(
      () => execution.isSettled,
      () => undefined,
    )
    execution.take()
  }

  /**
   * Warms up all workers, first one, and then the others, and each worker that replaces another one before it gets other calls. A worker whose
   * warm-up fails then counts as one that crashed.
   *
   * @param warmUp makes asynchronous calls with an affinity, which run in the worker.
   * @returns a function that ends the warm-ups of later workers. @throws (rejects with) what `warmUp` throws.
   */
  async warmUp(warmUp: WarmUp): Promise<() => void> {
    const { slots, warmUps } = this.#pool
    const [first, ...others] = slots
    await warmUps.run(first!.index, warmUp)
    await Promise.all(others.map(({ index }) => warmUps.run(index, warmUp)))
    return warmUps.add(warmUp)
  }

  /** Whether a worker still runs. */
  has({ index, process }: RemoteWorker): boolean {
    return this.#pool.slots[index]?.worker?.process === process
  }

  /** Releases a kernel and its state in all workers. */
  forget(kernel: RemoteKernel): void {
    for (const { worker } of this.#pool.slots) worker?.forget(kernel)
  }

  /** Describes the workers from words that they have written, and never waits. */
  health(): IsolateHealth {
    const { slots, failure } = this.#pool
    const workers = slots.map(healthOf)
    const isReady = slots.every(({ worker }) => worker !== undefined && worker.isReady)
    if (!this.isAlive) return { state: 'closed', workers }
    if (failure !== undefined) return { state: 'failed', workers, failure }
    return { state: isReady ? 'ready' : 'restarting', workers }
  }

  metrics(): IsolateMetrics {
    const { slots, metrics, queue, running } = this.#pool
    return metrics.snapshot(
      queue.length,
      running,
      slots.map(({ worker }) => worker),
    )
  }

  /** Replaces all workers, each after the calls that it has, and accepts calls again after a {@link CrashLoopError}. */
  async restart(): Promise<void> {
    this.#checkAlive()
    const pool = this.#pool
    const before = pool.slots.map(({ worker }) => worker)
    pool.supervisor.restart()
    await this.#pool.until(
      () => pool.slots.every(({ worker }, index) => worker !== before[index] && worker?.isReady === true),
      () => (pool.isClosed ? closedError() : pool.failure),
    )
  }

  /**
   * Waits for all calls, and ends the workers. Idempotent.
   *
   * @param options with a `deadline` in milliseconds, after which the calls that are left fail with a `ScopeClosedError`
   */
  async closeAsync(options?: CloseOptions): Promise<void> {
    const { deadline = Infinity } = checkOptions(options, ['deadline'])
    const checked = checkDuration(deadline, 'deadline')
    await (this.#closing ??= this.#close(checked))
  }

  async #close(deadline: number): Promise<void> {
    const pool = this.#pool
    const timer = deadline <= LONGEST_TIMER ? setTimeout(() => pool.close(), deadline) : undefined
    await pool.until(
      () => pool.queue.length === 0 && pool.running === 0,
      () => undefined,
    )
    clearTimeout(timer)
    if (!pool.isClosed) pool.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.closeAsync()
  }

  toString(): string {
    return `Workers (${this.#settings.workers}, ${this.health().state})`
  }

  /** Checks a call, and holds its operands. A call that is refused is released. */
  #admit<T>(call: WorkerCall<T>, isAsync: boolean, trace: CallTrace | undefined): Execution<T> {
    try {
      const execution = this.#execution(call, isAsync)
      execution.trace = trace
      return execution
    } catch (error) {
      call.released?.()
      throw error
    }
  }

  #execution<T>(call: WorkerCall<T>, isAsync: boolean): Execution<T> {
    this.#checkAlive()
    const { failure } = this.#pool
    if (failure !== undefined) throw failure
    if (hasOptions(call)) checkCallOptions(call)
    const { affinity, worker } = call
    const { deadline = this.#settings.deadline, idempotent = this.#settings.idempotent, signal } = call
    if (signal?.aborted === true) throw signal.reason
    const cold = affinity === undefined ? undefined : this.#pool.warmUps.workerOf(affinity)
    return new Execution(
      call,
      this.#nextId++,
      worker?.index ?? cold ?? (affinity === undefined ? -1 : workerIndexOf(affinity, this.#settings.workers)),
      { deadline, isIdempotent: idempotent, isAsync, isLoad: false, isWarmUp: cold !== undefined },
      performance.now(),
    )
  }

  /**
   * Returns the promise of a call that was submitted, and takes the call back when its signal is aborted.
   *
   * The listeners have names, because V8 makes a function that is assigned to a property at once an old object, so that a whole call
   * would stay until the next full collection.
   */
  #outcomeOf<T>(execution: Execution<T>): Promise<T> {
    const { signal } = execution.call
    const pool = this.#pool
    const { timer, metrics } = pool
    if (execution.isSettled) {
      metrics.settled(execution as Execution, performance.now())
      return execution.isRejected ? Promise.reject(execution.error as Error) : Promise.resolve(execution.take())
    }
    if (signal?.aborted === true) {
      // By code that was called meanwhile, which no listener heard.
      queueMicrotask(() => pool.aborted(execution as Execution, signal.reason))
    } else if (signal !== undefined) {
      const abort = (): void => pool.aborted(execution as Execution, signal.reason)
      execution.onAbort = abort
      EventTarget.prototype.addEventListener.call(signal, 'abort', abort)
    }
    timer.wait()
    return new Promise<T>((resolve, reject) => {
      const settle = (): void => {
        timer.done()
        metrics.settled(execution as Execution, performance.now())
        if (execution.isRejected) reject(execution.error)
        else resolve(execution.take())
      }
      execution.onSettled = settle
    })
  }

  #submit(execution: Execution): void {
    const pool = this.#pool
    this.#begin(execution)
    for (let each: Execution | undefined = execution; each !== undefined; each = each.follower) {
      if (!each.isSettled) pool.timer.by(each.deadlineAt)
    }
  }

  /** Gives a call and its followers to a worker or the queue, or rejects them if the queue is full. */
  #begin(execution: Execution): void {
    const pool = this.#pool
    const slot = pool.freeSlot(execution)
    if (slot !== undefined) return this.#pool.send(slot, execution, execution.startedAt)
    if (pool.queue.length + execution.weight <= this.#settings.queue) return pool.queue.add(execution)
    for (const each of execution.group()) {
      each.reject(fullError(each, this.#settings.queue))
      pool.release(each)
    }
  }

  #checkAlive(): void {
    if (!this.isAlive) throw closedError()
  }
}

/** Whether a call has options of its own, which most calls do not have. */
const hasOptions = ({ deadline, signal, priority, affinity, idempotent }: WorkerCall): boolean =>
  deadline !== undefined ||
  signal !== undefined ||
  priority !== undefined ||
  affinity !== undefined ||
  idempotent !== undefined

let longest: number | undefined

/** The longest wait in native code, in ms. `worker.terminate()` ends a thread only when JavaScript goes on. */
const longestWait = (): number => (longest ??= isMainThread() ? Infinity : 100)

/** Waits on this thread until a call is settled. Once a worker has the call, only the functions that it calls are served. */
function waitForCall(pool: Pool, execution: Execution): void {
  pool.warmUps.blockingCalls++
  try {
    while (!execution.isSettled) {
      if (execution.place < 0) waitForTurn(pool, execution)
      else waitForAnswer(pool, execution, pool.slots[execution.place]!)
    }
  } finally {
    pool.warmUps.blockingCalls--
  }
}

function waitForAnswer(pool: Pool, execution: Execution, slot: WorkerSlot): void {
  const { supervisor } = pool
  const worker = slot.worker!
  const isAlone = pool.slots.length === 1 && pool.queue.length === 0 && worker.isReady && !pool.watchesMemory
  const next = isAlone && execution.cancelledAt === 0 ? execution.deadlineAt : pool.nextTime
  const result = worker.exchange(execution, Math.min(next - performance.now(), longestWait()))
  if (result === 'changed') pool.collect(slot)
  else if (result === 'ended') supervisor.ended(slot, KILL_TIMEOUT)
  // A worker that damages its ring can end waits for ever.
  if (result === 'timed out' || performance.now() >= next) pool.tick()
}

/** Serves all workers until the call may have one. */
function waitForTurn(pool: Pool, execution: Execution): void {
  const { supervisor } = pool
  const eligible = pool.slots.filter(({ index }) => execution.workerIndex < 0 || execution.workerIndex === index)
  if (eligible.every(({ worker }) => worker?.isServing === true)) {
    execution.reject(stuckError(execution))
    pool.dequeue(execution)
    return
  }
  const slots = pool.slots.filter(({ worker }) => worker !== undefined && !worker.isServing)
  const workers = slots.map(({ worker }) => worker!)
  const seen = workers.map(({ host }) => host.memory.responses)
  for (const slot of slots) pool.collect(slot)
  if (execution.place >= 0 || execution.isSettled) return
  const isSame = slots.every(({ worker }, index) => worker === workers[index])
  const timeout = Math.min(pool.nextTime - performance.now(), longestWait())
  if (isSame) waitForAny(workers.map(({ host }) => host), seen, timeout) // prettier-ignore
  for (const slot of slots) {
    supervisor.ended(slot)
    pool.collect(slot)
  }
  pool.tick()
}
