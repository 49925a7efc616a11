import { CONSTANTS, LAYOUTS, type RemoteAnswer, type RemoteKernel, type SharedChunk } from '@tenon/core/internal'
import { Chunk, closeDescriptor, createSharedMemory, openMapping } from '@tenon/pools/internal'
import { flagsOf, type CommandMemory, writeOperand } from './command-memory.ts'
import type { Execution } from './execution.ts'
import type { WorkerOperand } from './worker-call.ts'

const { TN_HOST_READ_ONLY: READ_ONLY, TN_HOST_NULL: NULL } = CONSTANTS
const { size: OPERAND_SIZE } = LAYOUTS.tn_host_operand_t
const { size: MEMORY_SIZE, offsets: MEMORY } = LAYOUTS.tn_host_memory_t

/** A request that prepares a call, or follows it. The request of the call itself is its {@link Execution}. */
export interface Request {
  /** `TN_HOST_LOAD` and so on. */
  readonly operation: number
  readonly target: number
  /** The id of a call; others get one when they are sent. */
  readonly id?: number
  /** The call that needs it. */
  readonly execution: Execution | undefined
  /** Writes the operands and the body. The slot is announced after it. */
  write(memory: CommandMemory, slot: number): void
  /** Called with the answer, which may be an error. */
  answered(answer: RemoteAnswer): void
  /** Frees what the request has besides, once it was answered or its worker has ended. */
  end?(): void
}

const nothing = (): void => {}

/** A request without operands and body, whose answer does not matter. */
export function plainRequest(operation: number, target: number): Request {
  return { operation, target, execution: undefined, write: nothing, answered: nothing }
}

/** A request that a worker answers as soon as it has answered those before it. */
export function helloRequest(answered: (answer: RemoteAnswer) => void, execution?: Execution): Request {
  return { operation: CONSTANTS.TN_HOST_HELLO, target: 0, execution, write: nothing, answered }
}

/** A request that has only a body, which fits into the slot. */
export function bodyRequest(
  operation: number,
  target: number,
  body: Uint8Array,
  execution: Execution,
  answered: (answer: RemoteAnswer) => void,
): Request {
  return { operation, target, execution, write: (memory, slot) => memory.writeBody(slot, body), answered }
}

/** The body of a request that loads the library of a kernel: its path, and the identity of its file. */
export function loadBody({ library, file }: RemoteKernel): Uint8Array {
  const identity = file?.()
  return Buffer.from(identity === undefined ? library : `${library}\0${identity}`)
}

/** A request that has only a body, which is a part of the memory `id`. */
export function longBodyRequest(
  operation: number,
  target: number,
  { id, scratch, length }: { readonly id: number; readonly scratch: Scratch; readonly length: number },
  execution: Execution,
  answered: (answer: RemoteAnswer) => void,
): Request {
  return {
    operation,
    target,
    execution,
    write(memory, slot) {
      memory.writeOperandCount(slot, 0, CONSTANTS.TN_HOST_LONG_BODY)
      memory.writeOperand(slot, 0, id, READ_ONLY, 0, length)
      memory.writeLength(slot, length)
    },
    answered,
    end: scratch.close,
  }
}

/** Returns the body of `TN_HOST_MEMORY`. */
export function memoryBody(chunk: SharedChunk, isWritable: boolean): Uint8Array {
  const body = new DataView(new ArrayBuffer(MEMORY_SIZE))
  body.setBigUint64(MEMORY.byte_size, BigInt(chunk.byteSize), true)
  body.setUint32(MEMORY.is_writable, isWritable ? 1 : 0, true)
  return new Uint8Array(body.buffer)
}

/** Returns the body of `TN_HOST_KERNEL`. @param library the id of the library */
export function kernelBody(kernel: RemoteKernel, library: number): Uint8Array {
  const texts = [kernel.name, ...kernel.symbols].map((text) => Buffer.from(text))
  const [name] = texts
  const lengths = texts.map((text) => text.length)
  const head = 40 + lengths.reduce((sum, length) => sum + length, 0)
  const start = kernel.descriptor.length === 0 ? head : (head + 7) & ~7
  const body = new Uint8Array(start + kernel.descriptor.length)
  new Uint32Array(body.buffer, 0, 10).set([
    library,
    kernel.convention,
    kernel.operands,
    kernel.results,
    name!.length,
    ...lengths.slice(1),
    kernel.descriptor.length,
  ])
  body.set(Buffer.concat(texts), 40)
  body.set(kernel.descriptor, start)
  return body
}

/** The operands of a call as an array of `tn_host_operand_t`. */
export function operandList(operands: readonly WorkerOperand[], memories: readonly number[]): Uint8Array {
  const words = new Uint32Array((operands.length * OPERAND_SIZE) / 4)
  operands.forEach((operand, index) => {
    const at = (index * OPERAND_SIZE) / 4
    if (operand === null) writeOperand(words, at, 0, NULL, 0, 0)
    else writeOperand(words, at, memories[index]!, flagsOf(operand), operand.offset, operand.length)
  })
  return new Uint8Array(words.buffer)
}

/** Shared memory for the parts of one request that do not fit into its slot. */
export interface Scratch {
  readonly chunk: SharedChunk
  /** Where each part begins, in bytes. */
  readonly offsets: readonly number[]
  /** Closes the memory, once the request was answered. */
  close(): void
}

/** Copies parts into shared memory, each to a multiple of 64 bytes. @throws {PoolsError} if no memory is left */
export function makeScratch(parts: readonly Uint8Array[]): Scratch {
  const offsets: number[] = []
  let end = 0
  for (const { length } of parts) {
    offsets.push(end)
    end = Math.ceil((end + length) / 64) * 64
  }
  const byteSize = Math.max(end, 64)
  const descriptor = createSharedMemory(byteSize, 'request')
  let chunk: Chunk
  try {
    const mapping = openMapping(descriptor, 0, byteSize, { isShared: true, isGuarded: false })
    chunk = new Chunk({ open: true }, descriptor, mapping, true)
  } catch (error) {
    closeDescriptor(descriptor)
    throw error
  }
  parts.forEach((part, index) => chunk.bytes.set(part, offsets[index]))
  return { chunk, offsets, close: () => chunk.close() }
}
