import { CONSTANTS, type RemoteAnswer, type RemoteKernel, type SharedChunk } from '@tenon/core/internal'
import { flagsOf, type CommandMemory } from './command-memory.ts'
import type { Execution } from './execution.ts'
import { type Known, KnownKernels, KnownMemories } from './known-objects.ts'
import {
  bodyRequest,
  helloRequest,
  kernelBody,
  loadBody,
  longBodyRequest,
  makeScratch,
  memoryBody,
  operandList,
  plainRequest,
  type Request,
} from './requests.ts'
import type { KeptPart, WorkerOperand } from './worker-call.ts'
import type { WaitResult, WorkerProcess } from './worker-process.ts'

const SLOTS = CONSTANTS.TN_HOST_SLOTS
const RUN = CONSTANTS.TN_HOST_RUN
const { TN_HOST_POSTED: POSTED, TN_HOST_DONE: DONE } = CONSTANTS
const { TN_HOST_CALLBACK: CALLBACK, TN_HOST_RETURNED: RETURNED } = CONSTANTS

const { TN_HOST_BODY_SIZE: BODY_SIZE, TN_HOST_OPERANDS: MOST_OPERANDS } = CONSTANTS
const { TN_HOST_READ_ONLY: READ_ONLY, TN_HOST_NULL: NULL } = CONSTANTS

/** The ids of requests that are not calls begin here. */
const FIRST_ID = 2 ** 40

/** What a ring asks of the worker that it belongs to. */
export interface RingOwner {
  /** The time of CLOCK_MONOTONIC in ms at which `performance.now()` was 0. */
  readonly clock: number
  /** The worker has answered the request of its start. */
  greeted(answer: RemoteAnswer): void
  ran(execution: Execution, answer: RemoteAnswer): void
  /** The worker has the library, unless the answer is an error. */
  loaded(execution: Execution, answer: RemoteAnswer): void
  /** Calls a function of this process. Returns undefined if the call has none or the worker was ended meanwhile. */
  callBack(execution: Execution, body: Uint8Array): Uint8Array | undefined
}

/**
 * The requests to one worker, which answers them in order. Requests for which no slot is free wait. The ring knows which libraries, kernels
 * and memory the worker has, and adds the requests that prepare what a call needs.
 */
export class RequestRing {
  readonly #process: WorkerProcess
  readonly #memory: CommandMemory
  readonly #owner: RingOwner
  readonly #requests = new Array<Execution | Request | undefined>(SLOTS).fill(undefined)
  readonly #ids = new Float64Array(SLOTS)
  readonly #backlog: (Execution | Request)[] = []
  readonly #kernels = new KnownKernels(() => this.#process.noteModules())
  readonly #memories = new KnownMemories()
  readonly #release = (id: number): void => this.#forgetObject(CONSTANTS.TN_HOST_RELEASE_MEMORY, id)
  #first = 0
  #used = 0
  #nextId = FIRST_ID
  /** Whether slots were written that are not announced. */
  isDirty = false
  /** Whether a function of this process runs for the worker. */
  isServing = false
  #isOutOfOrder = false
  #isClosed = false
  /** Why the worker cannot be reached any more. */
  fault: string | undefined

  /** @param owner the worker, which the ring tells of answers. The first slot has the request of the start. */
  constructor(process: WorkerProcess, owner: RingOwner) {
    this.#process = process
    this.#memory = process.memory
    this.#owner = owner
    this.#requests[0] = helloRequest((answer) => owner.greeted(answer))
    this.#ids[0] = this.#memory.idOf(0)
    this.#used = 1
    this.fault = undefined
  }

  /** Whether the worker has answered all requests. */
  get isEmpty(): boolean {
    return this.#used === 0
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

  #push(request: Execution | Request): void {
    if (this.hasRoom) this.#place(request)
    else this.#backlog.push(request)
  }

  /** Whether requests wait for a slot. */
  get hasBacklog(): boolean {
    return this.#backlog.length > 0
  }

  /** Announces the slots that were written. */
  post(rings: boolean): void {
    this.isDirty = false
    this.#process.post(rings || this.hasBacklog)
  }

  /** Announces the slots that were written, and waits for one, at most `timeout` ms. */
  exchange(slot: number, timeout: number): WaitResult {
    const process = this.#process
    const result = this.isDirty ? process.exchange(slot, timeout) : process.wait(slot, timeout)
    this.isDirty = false
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
    if (this.isServing) return undefined
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
    this.#isClosed = true
    this.#memories.clear()
    for (const request of [...this.#requests, ...this.#backlog]) {
      if (request !== undefined && 'execution' in request) request.end?.()
    }
    this.#requests.fill(undefined)
    this.#backlog.length = 0
    this.#used = 0
  }

  #finish(slot: number, answer: RemoteAnswer): void {
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
    this.isServing = true
    let result
    try {
      result = this.#owner.callBack(execution, body)
    } finally {
      this.isServing = false
    }
    if (result === undefined) return 'a kernel must not call a function that it was not given'
    this.#memory.writeBody(slot, result)
    this.#memory.setState(slot, RETURNED)
    this.isDirty = true
    return undefined
  }

  #place(request: Execution | Request): void {
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
      this.#writeOperands(memory, slot, request.call.operands, request.memories)
      if (request.call.body !== undefined) memory.writeBody(slot, request.call.body)
      request.slot = slot
    }
    this.#requests[slot] = request
    this.#used++
    memory.setState(slot, POSTED)
    this.isDirty = true
  }

  #deadlineOf(execution: Execution | undefined): number {
    return execution === undefined ? Infinity : execution.deadlineAt + this.#owner.clock
  }

  /** Adds a request that loads the library of a kernel, unless the worker has loaded it. */
  addLoad(execution: Execution): void {
    const { kernel } = execution.call
    const library = this.#kernels.findLibrary(kernel.library) ?? this.#load(kernel, execution)
    this.#push(helloRequest((answer) => this.#owner.loaded(execution, library.failure ?? answer), execution))
  }

  /** Adds the request of a call, after those that prepare what it needs. */
  add(execution: Execution): void {
    const { kernel, operands, body } = execution.call
    this.#memories.begin()
    execution.known = this.#kernels.find(kernel) ?? this.#prepareKernel(kernel, execution)
    for (const operand of operands) {
      if (operand !== null && this.#memories.find(operand.chunk, operand.isWritten) === undefined) {
        this.#announce(operand.chunk, operand.isWritten, execution)
      }
    }
    const isLong = body !== undefined && body.length > BODY_SIZE
    if (isLong || operands.length > MOST_OPERANDS) return this.#addLong(execution, isLong)
    // Requests that are added meanwhile may release the memory, so the ids are those of now.
    execution.memories = this.hasRoom ? undefined : this.#idsOf(operands)
    this.#push(execution)
  }

  /** Adds a request that copies a part of a kept value. */
  fetch(
    execution: Execution,
    value: number,
    { target, body }: KeptPart,
    answered: (answer: RemoteAnswer) => void,
  ): void {
    const { chunk, offset, length } = target
    const id = this.#memories.find(chunk, true)?.id ?? this.#announce(chunk, true, execution)
    this.#push({
      ...bodyRequest(CONSTANTS.TN_HOST_FETCH, value, body, execution, answered),
      write(memory, slot) {
        memory.writeOperandCount(slot, 1, 0)
        memory.writeOperand(slot, 0, id, 0, offset, length)
        memory.writeBody(slot, body)
      },
    })
  }

  /** Adds a request that releases a kept value. */
  releaseValue(value: number): void {
    this.#push(plainRequest(CONSTANTS.TN_HOST_RELEASE_VALUE, value))
  }

  forget(kernel: RemoteKernel): void {
    const id = this.#kernels.forget(kernel)
    if (id !== undefined) this.#forgetObject(CONSTANTS.TN_HOST_RELEASE_KERNEL, id)
  }

  #writeOperands(
    memory: CommandMemory,
    slot: number,
    operands: readonly WorkerOperand[],
    memories: readonly number[] | undefined,
  ): void {
    const { length } = operands
    memory.writeOperandCount(slot, length, 0)
    for (let index = 0; index < length; index++) {
      const operand = operands[index]!
      if (operand === null) {
        memory.writeOperand(slot, index, 0, NULL, 0, 0)
        continue
      }
      const { chunk, isWritten, offset } = operand
      const id = memories === undefined ? this.#memories.find(chunk, isWritten)!.id : memories[index]!
      memory.writeOperand(slot, index, id, flagsOf(operand), offset, operand.length)
    }
  }

  #prepareKernel(kernel: RemoteKernel, execution: Execution): Known {
    const known = this.#kernels.add(kernel)
    const library = this.#kernels.findLibrary(kernel.library) ?? this.#load(kernel, execution)
    const body = kernelBody(kernel, library.id)
    const answered = (answer: RemoteAnswer): void => this.#kernels.settle(known, library.failure ?? answer, kernel)
    if (body.length <= BODY_SIZE) {
      this.#push(bodyRequest(CONSTANTS.TN_HOST_KERNEL, known.id, body, execution, answered))
      return known
    }
    const scratch = makeScratch([body])
    const id = this.#announce(scratch.chunk, false, execution)
    const long = { id, scratch, length: body.length }
    this.#push(longBodyRequest(CONSTANTS.TN_HOST_KERNEL, known.id, long, execution, answered))
    return known
  }

  /** Whether the worker has not answered the request that loads the library of a kernel. */
  isLoading({ library }: RemoteKernel): boolean {
    return this.#kernels.findLibrary(library)?.isPending === true
  }

  #load(kernel: RemoteKernel, execution: Execution): Known {
    const library = this.#kernels.addLibrary(kernel.library)
    const answered = (answer: RemoteAnswer): void => this.#kernels.settle(library, answer, kernel.library)
    this.#push(bodyRequest(CONSTANTS.TN_HOST_LOAD, library.id, loadBody(kernel), execution, answered))
    return library
  }

  /** Adds a request that announces a chunk, whose descriptor is sent before it. @returns the id of the memory */
  #announce(chunk: SharedChunk, isWritable: boolean, execution: Execution): number {
    const { id } = this.#memories.add(chunk, isWritable, this.#release)
    this.#push({
      operation: CONSTANTS.TN_HOST_MEMORY,
      target: id,
      execution,
      write: (memory, slot) => {
        memory.writeBody(slot, memoryBody(chunk, isWritable))
        this.fault ??= this.#process.sendMemory(id, chunk.descriptor)
      },
      answered: (answer) => {
        if (answer.status === 0) return
        this.#memories.forget(chunk, id)
        execution.preparation ??= answer
      },
    })
    return id
  }

  /** Adds a request for a call whose operands or body do not fit into a slot. They go into memory of their own. */
  #addLong(execution: Execution, isLong: boolean): void {
    const { operands, body = new Uint8Array(0) } = execution.call
    const isMany = operands.length + (isLong ? 1 : 0) > MOST_OPERANDS
    execution.memories = this.#idsOf(operands)
    const list = isMany ? operandList(operands, execution.memories) : new Uint8Array(0)
    const scratch = makeScratch([list, isLong ? body : new Uint8Array(0)])
    const id = this.#announce(scratch.chunk, false, execution)
    const flags = (isMany ? CONSTANTS.TN_HOST_MANY : 0) | (isLong ? CONSTANTS.TN_HOST_LONG_BODY : 0)
    this.#push({
      operation: CONSTANTS.TN_HOST_RUN,
      target: execution.known!.id,
      id: execution.id,
      execution,
      write: (memory, slot) => {
        if (isMany) memory.writeOperand(slot, 0, id, READ_ONLY, scratch.offsets[0]!, list.length)
        else this.#writeOperands(memory, slot, operands, execution.memories)
        if (isLong) {
          memory.writeOperand(slot, isMany ? 1 : operands.length, id, READ_ONLY, scratch.offsets[1]!, body.length)
          memory.writeLength(slot, body.length)
        } else {
          memory.writeBody(slot, body)
        }
        memory.writeOperandCount(slot, operands.length, flags)
      },
      answered: (answer) => this.#owner.ran(execution, answer),
      end: scratch.close,
    })
  }

  #idsOf(operands: readonly WorkerOperand[]): number[] {
    return operands.map((operand) =>
      operand === null ? 0 : (this.#memories.find(operand.chunk, operand.isWritten)?.id ?? 0),
    )
  }

  #forgetObject(operation: number, id: number): void {
    if (this.#isClosed) return
    this.#push(plainRequest(operation, id))
    this.post(false)
  }
}
