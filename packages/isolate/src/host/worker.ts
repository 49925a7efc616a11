import {
  type CodeModule,
  CONSTANTS,
  LAYOUTS,
  type RemoteAnswer,
  type RemoteKernel,
  type RemoteWorker,
} from '@tenon/core/internal'
import type { Execution } from './execution.ts'
import { startProcess } from './host-program.ts'
import { RequestRing, type RingOwner } from './request-ring.ts'
import type { Settings } from './settings.ts'
import { type WaitResult, WorkerProcess } from './worker-process.ts'

const { offsets: HELLO } = LAYOUTS.tn_host_hello_t

/** The kernels that `details.previous` lists. */
const PREVIOUS = 8

/** The most functions that a worker calls before other events of the event loop have a turn. */
const MOST_IN_A_ROW = 64

/** The most times that a worker rings without a call that makes progress. */
const MOST_RINGS = 10_000

/** What a worker reports. */
export interface WorkerListener {
  /** The worker has answered the request of its start. */
  ready(worker: Worker, isFiltered: boolean): void
  succeeded(worker: Worker, execution: Execution, value: unknown, nativeTime: number): void
  /** A library was loaded, or could not be. */
  loaded(worker: Worker, execution: Execution, answer: RemoteAnswer): void
  /** The result of a call could not be read, for a reason of this process. */
  broke(worker: Worker, execution: Execution, error: unknown): void
  /** A function that the kernel has called aborted the signal of the call. */
  aborted(execution: Execution, reason: unknown): void
  /** The kernel or its preparation has reported an error. */
  failed(worker: Worker, execution: Execution, answer: RemoteAnswer): void
}

/** Why this process ends a worker. */
export type Ending = 'deadline' | 'abort' | 'memory' | 'fault' | 'start' | 'replaced' | 'closed'

/** One process that runs kernels, and the calls that it has. */
export class Worker implements RingOwner, RemoteWorker {
  readonly index: number
  readonly process: number
  readonly clock: number
  readonly startedAt: number
  readonly host: WorkerProcess
  /** The calls in the worker, in order. */
  readonly executions: Execution[] = []
  /** The kernels that it has run, oldest first. */
  readonly previous: string[] = []
  /** The calls that it has answered. */
  calls = 0
  /** Whether it has answered the request of its start. */
  isReady = false
  isEnded = false
  /** Whether it is replaced after its calls. */
  mustReplace = false
  /** Whether it gets no calls yet but those that warm it up. */
  isCold: boolean
  /** Undefined while nobody ends it. */
  ending: Ending | undefined
  /** Its private memory in bytes, when it was found above the limit. */
  used = 0
  /** When the oldest call became the oldest one, in ms of `performance.now()`. */
  oldestSince = 0
  readonly #listener: WorkerListener
  readonly #ring: RequestRing
  #fault: string | undefined
  #rings = 0

  /**
   * @param clock see {@link RingOwner}. @param isCold see {@link isCold}.
   * @throws {NativeError | UnsupportedError} if it cannot be started
   */
  constructor(index: number, settings: Settings, clock: number, listener: WorkerListener, isCold: boolean) {
    this.index = index
    this.isCold = isCold
    this.clock = clock
    this.#listener = listener
    this.host = new WorkerProcess(startProcess(settings))
    this.process = this.host.process
    this.startedAt = performance.now()
    this.#ring = new RequestRing(this.host, this)
  }

  get isIdle(): boolean {
    return this.executions.length === 0
  }

  /** Whether it has no call, and is not about to end. */
  get isFree(): boolean {
    return this.executions.length === 0 && this.ending === undefined && !this.mustReplace
  }

  /** Whether it can get a call at once. */
  canTake({ isWarmUp }: Pick<Execution, 'isWarmUp'>): boolean {
    return this.isFree && (!this.isCold || isWarmUp)
  }

  /** Whether the last call that the worker answered was its first one. */
  get isFirstCall(): boolean {
    return this.calls <= 1
  }

  /** Whether it has not loaded the library of a kernel yet. */
  isLoading(kernel: RemoteKernel): boolean {
    return this.#ring.isLoading(kernel)
  }

  /** Why the worker cannot be trusted or reached any more. */
  get fault(): string | undefined {
    return this.#fault ?? this.#ring.fault
  }

  /**
   * Whether the worker may have begun its oldest call. The state lies in memory that the kernel can write, so it is trusted only while it has
   * its initial value.
   */
  get hasBegun(): boolean {
    const { memory } = this.host
    return this.isReady && (memory.phase !== CONSTANTS.TN_HOST_IDLE || memory.takenId !== this.#ring.answeredId)
  }

  /** The files whose code the worker has, the last one first. A worker that crashed while it loaded a library has listed it meanwhile. */
  codeModules(isLoading: boolean): readonly CodeModule[] {
    if (isLoading) this.host.noteModules()
    return [...this.host.modules.values()].toReversed()
  }

  /** Adds a call and its followers. {@link post} or {@link exchange} announces them. */
  add(first: Execution, now: number): void {
    if (this.executions.length === 0) this.oldestSince = now
    // Requests that nobody waits for may have filled the ring.
    if (!this.#ring.hasRoom) this.#fault ??= this.#ring.collect(true)
    for (let next: Execution | undefined = first; next !== undefined;) {
      const execution: Execution = next
      next = execution.follower
      if (execution.isSettled) continue
      execution.place = this.index
      execution.sentAt = now
      execution.process = this.process
      execution.outputMark = this.host.memory.outputTotal
      this.executions.push(execution)
      try {
        if (execution.isLoad) this.#ring.addLoad(execution)
        else this.#ring.add(execution)
      } catch (error) {
        this.executions.pop()
        this.#listener.broke(this, execution, error)
      }
    }
  }

  /** Whether a call that was added is all that the worker has to do, which needs no function of this process. */
  hasOnly(execution: Execution): boolean {
    return this.executions.length === 1 && this.#ring.hasOnly(execution) && execution.call.callBack === undefined
  }

  /** Whether a function of this process runs for the worker. */
  get isServing(): boolean {
    return this.#ring.isServing
  }

  /**
   * Announces what {@link add} has written.
   *
   * @returns whether an answer came before the worker was asked to ring, so that nothing else tells of it: the worker takes a slot
   * when its state changes, and may not sleep
   */
  post(): boolean {
    this.#ring.post(this.#mustRing)
    return this.#mustRing && this.#ring.hasAnswer
  }

  /** Whether the event loop waits for the next answer. A synchronous call that was given up is not waited for by its thread. */
  get #mustRing(): boolean {
    if (!this.isReady || this.#ring.hasBacklog) return true
    const [current] = this.executions
    return current !== undefined && (current.isAsync || current.isSettled)
  }

  /** Announces what is not announced, and waits until a call may have been answered, at most `timeout` ms. */
  exchange(execution: Execution, timeout: number): WaitResult {
    return this.#ring.exchange(execution.slot < 0 ? this.#ring.lastSlot : execution.slot, timeout)
  }

  /** The worker has rung. One that does nothing else would keep the event loop busy for ever. */
  rang(): void {
    this.host.drain()
    if (++this.#rings > MOST_RINGS) this.#fault ??= 'a worker must not ring without an answer'
  }

  /** Reads the answers, and settles the calls. @returns whether there are more, for which this method is called again */
  collect(): boolean {
    for (let count = 0; count < MOST_IN_A_ROW; count++) {
      if (this.isEnded) return false
      this.#fault ??= this.#ring.collect(true)
      if (this.isEnded || this.fault !== undefined) return false
      const rings = this.#mustRing
      if (this.#ring.isDirty) this.#ring.post(rings)
      else if (rings && !this.#ring.isEmpty) this.host.memory.askForRing()
      // Looks again, because the worker does not ring for an answer from before it was asked to.
      if (!rings || !this.#ring.hasAnswer) return false
    }
    return true
  }

  /** Reads the last answers of a process that has ended. */
  collectLast(): void {
    this.#ring.collect(false)
  }

  /** When a cancelled call is ended by force: its time begins when the worker can run it. */
  endOf(execution: Execution, grace: number): number {
    return this.isReady ? Math.max(execution.cancelledAt, this.oldestSince) + grace : Infinity
  }

  /** The worker gets no calls, because those that warm it up have failed. */
  warmUpFailed(reason: unknown): void {
    this.#fault ??= `its warm-up failed: ${reason instanceof Error ? reason.message : String(reason)}`
  }

  /** Releases a kernel and its state. */
  forget(kernel: RemoteKernel): void {
    this.#ring.forget(kernel)
    this.flush()
  }

  /** Sends the requests that nobody waits for. */
  flush(): void {
    if (this.#ring.isDirty && !this.isEnded) this.#ring.post(this.#mustRing)
  }

  /** Frees all that the process had. The watches of its descriptors must be closed. */
  close(): void {
    this.isEnded = true
    this.#ring.close()
    this.host.close()
  }

  /** @internal */
  callBack(execution: Execution, body: Uint8Array): Uint8Array | undefined {
    const { call } = execution
    this.#rings = 0
    if (call.callBack === undefined) return undefined
    try {
      const result = call.callBack(body)
      if (this.isEnded) return undefined
      // The events of a synchronous call's signal are seen here, and asynchronous calls listen to them.
      if (!execution.isAsync && call.signal?.aborted === true) this.#listener.aborted(execution, call.signal.reason)
      return result
    } catch (error) {
      execution.reject(error)
      return undefined
    }
  }

  /** @internal */
  ran(execution: Execution, answer: RemoteAnswer): void {
    if (answer.status !== 0) {
      this.#leave(execution)
      this.#listener.failed(this, execution, execution.unprepared ?? answer)
    } else if (answer.value === 0) {
      this.#read(execution, answer)
    } else {
      this.#fetch(execution, answer)
    }
  }

  /** @internal */
  greeted(answer: RemoteAnswer): void {
    if (answer.status === 0) {
      this.isReady = true
      this.oldestSince = performance.now()
      this.#listener.ready(this, answer.body[HELLO.is_filtered] === 1)
    } else {
      this.#fault = `the worker could not start: ${Buffer.from(answer.body).toString()}`
    }
  }

  /** @internal */
  loaded(execution: Execution, answer: RemoteAnswer): void {
    this.#remove(execution)
    this.#listener.loaded(this, execution, answer)
  }

  #remove(execution: Execution): void {
    if (this.executions[0] === execution) this.executions.shift()
    else this.executions.splice(this.executions.indexOf(execution), 1)
    execution.place = -1
    this.#rings = 0
    this.oldestSince = performance.now()
  }

  #leave(execution: Execution): void {
    this.#remove(execution)
    this.calls++
    this.previous.push(execution.call.kernel.name)
    if (this.previous.length > PREVIOUS) this.previous.shift()
  }

  #read(execution: Execution, answer: RemoteAnswer): void {
    this.#leave(execution)
    let value
    try {
      value = execution.call.read(answer, this)
    } catch (error) {
      this.#listener.broke(this, execution, error)
      return
    }
    this.#listener.succeeded(this, execution, value, answer.nativeTime)
  }

  /** Fetches the parts of a value that the worker keeps, until the call asks for no more. */
  #fetch(execution: Execution, answer: RemoteAnswer): void {
    let failure: RemoteAnswer | undefined
    try {
      const parts = execution.call.parts?.(answer) ?? []
      let left = parts.length
      if (left === 0) {
        this.#ring.releaseValue(answer.value)
        return this.#read(execution, answer)
      }
      const answered = (fetched: RemoteAnswer): void => {
        if (fetched.status !== 0) failure ??= fetched
        if (--left > 0) return
        if (failure === undefined) return this.#fetch(execution, answer)
        this.#ring.releaseValue(answer.value)
        this.#leave(execution)
        this.#listener.failed(this, execution, failure)
      }
      for (const part of parts) this.#ring.fetch(execution, answer.value, part, answered)
    } catch (error) {
      this.#ring.releaseValue(answer.value)
      this.#leave(execution)
      this.#listener.broke(this, execution, error)
    }
  }
}
