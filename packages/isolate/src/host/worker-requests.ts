import { CONSTANTS, LAYOUTS, type SharedChunk } from '@tenon/core/internal'
import { type CommandMemory, writeOperand } from './command-memory.ts'
import type { Execution } from './execution.ts'
import { type Known, KnownKernels } from './known-kernels.ts'
import { KnownMemories } from './known-memories.ts'
import type { RequestRing } from './request-ring.ts'
import { bodyRequest, kernelBody, plainRequest } from './posted-requests.ts'
import { makeScratch } from './scratch.ts'
import type { Answer, KeptPart, WorkerKernel, WorkerOperand } from './worker-call.ts'
import type { WorkerProcess } from './worker-process.ts'

const { TN_HOST_BODY_SIZE: BODY_SIZE, TN_HOST_OPERANDS: MOST_OPERANDS } = CONSTANTS
const { TN_HOST_READ_ONLY: READ_ONLY, TN_HOST_NULL: NULL } = CONSTANTS
const { size: OPERAND_SIZE } = LAYOUTS.tn_host_operand_t
const { size: MEMORY_SIZE, offsets: MEMORY } = LAYOUTS.tn_host_memory_t

/** Makes the requests of calls for one worker. It remembers which libraries, kernels and memory the worker has. */
export class WorkerRequests {
  readonly #process: WorkerProcess
  readonly #ring: RequestRing
  readonly #kernels = new KnownKernels()
  readonly #memories = new KnownMemories()
  #isClosed = false
  /** Why the worker cannot be reached any more. */
  fault: string | undefined

  readonly #ran: (execution: Execution, answer: Answer) => void

  /** @param ran is called with the answers to calls that do not fit into a slot. */
  constructor(process: WorkerProcess, ring: RequestRing, ran: (execution: Execution, answer: Answer) => void) {
    this.#process = process
    this.#ring = ring
    this.#ran = ran
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
    execution.memories = this.#ring.hasRoom ? undefined : this.#idsOf(operands)
    this.#ring.push(execution)
  }

  /** Adds a request that copies a part of a kept value. */
  fetch(execution: Execution, value: number, { target, body }: KeptPart, answered: (answer: Answer) => void): void {
    const { chunk, offset, length } = target
    const id = this.#memories.find(chunk, true)?.id ?? this.#announce(chunk, true, execution)
    this.#ring.push({
      operation: CONSTANTS.TN_HOST_FETCH,
      target: value,
      execution,
      write(memory, slot) {
        memory.writeOperandCount(slot, 1, 0)
        memory.writeOperand(slot, 0, id, 0, offset, length)
        memory.writeBody(slot, body)
      },
      answered,
    })
  }

  /** Adds a request that releases a kept value. */
  releaseValue(value: number): void {
    this.#ring.push(plainRequest(CONSTANTS.TN_HOST_RELEASE_VALUE, value))
  }

  /** Writes the operands and the body of a call that fit into a slot. */
  writeRun(memory: CommandMemory, slot: number, { call, memories }: Execution): void {
    this.#writeOperands(memory, slot, call.operands, memories)
    if (call.body !== undefined) memory.writeBody(slot, call.body)
  }

  forget(kernel: WorkerKernel): void {
    const id = this.#kernels.forget(kernel)
    if (id !== undefined) this.#release(CONSTANTS.TN_HOST_RELEASE_KERNEL, id)
  }

  close(): void {
    this.#isClosed = true
    this.#memories.clear()
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
      const { chunk, isWritten, offset, length: size } = operand
      const id = memories === undefined ? this.#memories.find(chunk, isWritten)!.id : memories[index]!
      memory.writeOperand(slot, index, id, isWritten ? 0 : READ_ONLY, offset, size)
    }
  }

  #prepareKernel(kernel: WorkerKernel, execution: Execution): Known {
    const known = this.#kernels.add(kernel)
    const library = this.#kernels.findLibrary(kernel.library) ?? this.#load(kernel.library, execution)
    const body = kernelBody(kernel, library.id)
    const answered = (answer: Answer): void => {
      this.#kernels.settle(known, library.failure ?? answer, kernel)
    }
    if (body.length <= BODY_SIZE) {
      this.#ring.push(bodyRequest(CONSTANTS.TN_HOST_KERNEL, known.id, body, execution, answered))
      return known
    }
    const scratch = makeScratch([body])
    const id = this.#announce(scratch.chunk, false, execution)
    this.#ring.push({
      operation: CONSTANTS.TN_HOST_KERNEL,
      target: known.id,
      execution,
      write(memory, slot) {
        memory.writeOperandCount(slot, 0, CONSTANTS.TN_HOST_LONG_BODY)
        memory.writeOperand(slot, 0, id, READ_ONLY, 0, body.length)
        memory.writeLength(slot, body.length)
      },
      answered,
      end: scratch.close,
    })
    return known
  }

  #load(path: string, execution: Execution): Known {
    const library = this.#kernels.addLibrary(path)
    const answered = (answer: Answer): void => {
      this.#kernels.settle(library, answer, path)
    }
    this.#ring.push(bodyRequest(CONSTANTS.TN_HOST_LOAD, library.id, Buffer.from(path), execution, answered))
    return library
  }

  /** Adds a request that announces a chunk, whose descriptor is sent before it. @returns the id of the memory */
  #announce(chunk: SharedChunk, isWritable: boolean, execution: Execution): number {
    const release = (id: number): void => this.#release(CONSTANTS.TN_HOST_RELEASE_MEMORY, id)
    const { id } = this.#memories.add(chunk, isWritable, release)
    const body = new DataView(new ArrayBuffer(MEMORY_SIZE))
    body.setBigUint64(MEMORY.byte_size, BigInt(chunk.byteSize), true)
    body.setUint32(MEMORY.is_writable, isWritable ? 1 : 0, true)
    this.#ring.push({
      operation: CONSTANTS.TN_HOST_MEMORY,
      target: id,
      execution,
      write: (memory, slot) => {
        memory.writeBody(slot, new Uint8Array(body.buffer))
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
    this.#ring.push({
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
      answered: (answer) => this.#ran(execution, answer),
      end: scratch.close,
    })
  }

  #idsOf(operands: readonly WorkerOperand[]): number[] {
    return operands.map((operand) =>
      operand === null ? 0 : (this.#memories.find(operand.chunk, operand.isWritten)?.id ?? 0),
    )
  }

  #release(operation: number, id: number): void {
    if (this.#isClosed) return
    this.#ring.push(plainRequest(operation, id))
    this.#ring.post(false)
  }
}

/** The operands of a call as an array of `tn_host_operand_t`. */
function operandList(operands: readonly WorkerOperand[], memories: readonly number[]): Uint8Array {
  const words = new Uint32Array((operands.length * OPERAND_SIZE) / 4)
  operands.forEach((operand, index) => {
    const at = (index * OPERAND_SIZE) / 4
    if (operand === null) writeOperand(words, at, 0, NULL, 0, 0)
    else writeOperand(words, at, memories[index]!, operand.isWritten ? 0 : READ_ONLY, operand.offset, operand.length)
  })
  return new Uint8Array(words.buffer)
}
