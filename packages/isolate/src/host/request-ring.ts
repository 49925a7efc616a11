import { CONSTANTS } from '@tenon/core/internal'
import type { CommandMemory } from './command-memory.ts'
import type { Execution } from './execution.ts'
import type { PostedRequest } from './posted-requests.ts'
import type { Answer } from './worker-call.ts'
import type { WaitResult, WorkerProcess } from './worker-process.ts'

const SLOTS = CONSTANTS.TN_HOST_SLOTS
const RUN = CONSTANTS.TN_HOST_RUN
const { TN_HOST_POSTED: POSTED, TN_HOST_DONE: DONE } = CONSTANTS
const { TN_HOST_CALLBACK: CALLBACK, TN_HOST_RETURNED: RETURNED } = CONSTANTS

/** The ids of requests that are not calls begin here. */
const FIRST_ID = 2 ** 40

/** What a ring asks of the worker that it belongs to. */
export interface RingOwner {
  /** Writes the operands and the body of a call. @returns the id of its kernel */
  writeRun(execution: Execution, slot: number): void
  /** The time of CLOCK_MONOTONIC in ms at which `performance.now()` was 0. */
  readonly clock: number
  ran(execution: Execution, answer: Answer): void
  /** Calls a function of this process. Returns undefined if the call has none or the worker was ended meanwhile. */
  callBack(execution: Execution, body: Uint8Array): Uint8Array | undefined
}

/** The requests to one worker, which answers them in order. Requests for which no slot is free wait. */
export class RequestRing {
  readonly #process: WorkerProcess
  readonly #memory: CommandMemory
  readonly #owner: RingOwner
  readonly #requests = new Array<Execution | PostedRequest | undefined>(SLOTS).fill(undefined)
  readonly #ids = new Float64Array(SLOTS)
  readonly #backlog: (Execution | PostedRequest)[] = []
  #first = 0
  #used = 0
  #nextId = FIRST_ID
  /** Whether slots were written that are not announced. */
  #isDirty = false
  #isServing = false
  #isOutOfOrder = false

  /** @param owner the worker, which the ring tells of answers. The first slot has the request of the start. */
  constructor(process: WorkerProcess, owner: RingOwner, hello: PostedRequest) {
    this.#process = process
    this.#memory = process.memory
    this.#owner = owner
    this.#requests[0] = hello
    this.#ids[0] = this.#memory.idOf(0)
    this.#used = 1
  }

  /** Whether the worker has answered all requests. */
  get isEmpty(): boolean {
    return this.#used === 0
  }

  /** Whether a function of this process runs for the worker. */
  get isServing(): boolean {
    return this.#isServing
  }

  /** Whether slots were written that are not announced. */
  get isDirty(): boolean {
    return this.#isDirty
  }

  /** The call whose request is the oldest one without answer. */
  get oldest(): Execution | undefined {
    const request = this.#requests[this.#first]
    return request === undefined || !('execution' in request) ? request : request.execution
  }

  /** The id of the request that was answered last. */
  get answeredId(): number {
    return this.#ids[(this.#first + SLOTS - 1) % SLOTS]!
  }

  /** Whether the oldest request has an answer, or calls a function. */
  get hasAnswer(): boolean {
    if (this.#used === 0) return false
    const state = this.#memory.state(this.#first)
    return state !== POSTED && state !== RETURNED
  }

  /** Whether a call has the only request without answer. */
  hasOnly(execution: Execution): boolean {
    return this.#used === 1 && this.#requests[this.#first] === execution && !this.hasBacklog
  }

  /** The slot that was written last. */
  get lastSlot(): number {
    return (this.#first + this.#used + SLOTS - 1) % SLOTS
  }

  /** Whether the next request gets a slot at once. */
  get hasRoom(): boolean {
    return this.#used < SLOTS && !this.hasBacklog
  }

  push(request: Execution | PostedRequest): void {
    if (this.hasRoom) this.#place(request)
    else this.#backlog.push(request)
  }

  /** Whether requests wait for a slot. */
  get hasBacklog(): boolean {
    return this.#backlog.length > 0
  }

  /** Announces the slots that were written. */
  post(rings: boolean): void {
    this.#isDirty = false
    this.#process.post(rings || this.hasBacklog)
  }

  /** Announces the slots that were written, and waits for one, at most `timeout` ms. */
  exchange(slot: number, timeout: number): WaitResult {
    const process = this.#process
    const result = this.#isDirty ? process.exchange(slot, timeout) : process.wait(slot, timeout)
    this.#isDirty = false
    if (result === 'changed' && slot !== this.#first && !this.hasAnswer) this.#isOutOfOrder = true
    return result
  }

  /**
   * Reads the answers, and runs a function that the worker calls.
   *
   * @param isAlive false for a worker that has ended, and cannot wait for a function.
   * @returns why the worker cannot be trusted any more, or undefined
   */
  collect(isAlive: boolean): string | undefined {
    if (this.#isServing) return undefined
    if (this.#isOutOfOrder) return 'answers must come in the order of the requests'
    while (this.#used > 0) {
      const slot = this.#first
      const state = this.#memory.state(slot)
      if (state === POSTED || state === RETURNED) break
      if (state === CALLBACK && !isAlive) return undefined
      if (state === CALLBACK) return this.#serve(slot)
      if (state !== DONE) return `the state of a slot must be a known one, got ${state}`
      const answer = this.#memory.readAnswer(slot, this.#ids[slot]!)
      if (answer === undefined) return 'an answer must have the id of its request and a valid length'
      this.#finish(slot, answer)
    }
    if (isAlive) while (this.#backlog.length > 0 && this.#used < SLOTS) this.#place(this.#backlog.shift()!)
    return undefined
  }

  /** Ends the requests that the worker will not answer. */
  close(): void {
    for (const request of [...this.#requests, ...this.#backlog]) {
      if (request !== undefined && 'execution' in request) request.end?.()
    }
    this.#requests.fill(undefined)
    this.#backlog.length = 0
    this.#used = 0
  }

  #finish(slot: number, answer: Answer): void {
    const request = this.#requests[slot]!
    this.#requests[slot] = undefined
    this.#first = (slot + 1) % SLOTS
    this.#used--
    if ('execution' in request) {
      request.end?.()
      request.answered(answer)
    } else {
      this.#owner.ran(request, answer)
    }
  }

  #serve(slot: number): string | undefined {
    const execution = this.oldest
    const body = this.#memory.readBody(slot)
    if (body === undefined) return 'a call of a function must have a valid length'
    if (execution === undefined || this.#requests[slot]!.operation !== RUN) return 'only kernels can call functions'
    this.#isServing = true
    let result
    try {
      result = this.#owner.callBack(execution, body)
    } finally {
      this.#isServing = false
    }
    if (result === undefined) return 'a kernel must not call a function that it was not given'
    this.#memory.writeBody(slot, result)
    this.#memory.setState(slot, RETURNED)
    this.#isDirty = true
    return undefined
  }

  #place(request: Execution | PostedRequest): void {
    const slot = (this.#first + this.#used) % SLOTS
    const memory = this.#memory
    if ('execution' in request) {
      const { execution, id = this.#nextId++ } = request
      this.#ids[slot] = id
      memory.writeRequest(slot, request.operation, request.target, id, this.#deadlineOf(execution))
      request.write(memory, slot)
      if (execution !== undefined) execution.slot = slot
    } else {
      this.#ids[slot] = request.id
      memory.writeRequest(slot, RUN, request.known!.id, request.id, this.#deadlineOf(request))
      this.#owner.writeRun(request, slot)
      request.slot = slot
    }
    this.#requests[slot] = request
    this.#used++
    memory.setState(slot, POSTED)
    this.#isDirty = true
  }

  #deadlineOf(execution: Execution | undefined): number {
    return execution === undefined ? Infinity : execution.deadlineAt + this.#owner.clock
  }
}
