import { join, dirname } from 'node:path'
import { tensor, type Tensor } from '@tenon/core'
import { CONSTANTS, coreLibrary, sharedChunkOf, type RemoteAnswer, type RemoteKernel } from '@tenon/core/internal'
import type { WorkerCall, WorkerOperand } from '../src/host/worker-call.ts'
import { SharedMemory } from '@tenon/pools'

/** The numbers of faults, as in csrc/fixture/faulty/faults.h. */
export const FAULT = {
  NONE: 0,
  SEGV: 1,
  ABORT: 2,
  STACK: 3,
  EXIT: 4,
  EXIT_NOW: 5,
  TRAP: 6,
  KILL: 7,
  HANG: 8,
  SPIN: 9,
  EAT: 10,
  HEAP: 11,
  CLOSE: 12,
  GARBAGE: 13,
  THREAD_THROW: 14,
  THREAD_EXIT: 15,
  EXEC: 16,
  WRITE_PAST: 17,
  WRITE_OPERAND: 18,
  READ_BEFORE: 19,
  OUTPUT: 20,
  DIVIDE: 21,
  NON_CANONICAL: 22,
  THROW: 23,
  ERROR: 24,
  UNTIL_CANCELLED: 25,
  BUS: 26,
  THREAD_SEGV: 27,
  FORK: 28,
  SLEEP: 29,
  READ_PAST: 30,
  THREADS_SEGV: 31,
  PRINT: 32,
  NULL: 33,
  DESCRIPTORS: 34,
  ADDRESSES: 35,
  LEAK: 36,
  STATE: 37,
} as const

export const faultyLibrary: string = join(dirname(coreLibrary().path), 'libfaulty.so')

export function faultyKernel(name = 'faulty', library: string = faultyLibrary): RemoteKernel {
  return {
    name,
    library,
    convention: CONSTANTS.TN_HOST_STATUS,
    symbols: ['', '', '', 'faulty_status'],
    operands: 2,
    results: 1,
    descriptor: new Uint8Array(0),
  }
}

/** An operand over all bytes of a tensor in shared memory. */
export function operandOf(value: Tensor, isWritten: boolean): NonNullable<WorkerOperand> {
  const chunk = sharedChunkOf(value)
  if (chunk === undefined) throw new Error('the tensor must be in shared memory')
  return { chunk, offset: value.address - chunk.address, length: value.type.byteSize, isWritten }
}

/** An error that a kernel reported. */
export class ReportedError extends Error {
  readonly answer: RemoteAnswer
  readonly details: unknown
  constructor(answer: RemoteAnswer, details: unknown) {
    super(Buffer.from(answer.body).toString())
    this.answer = answer
    this.details = details
  }
}

/** Shared memory with the operands of calls of `faulty_status`. */
export class Bench implements Disposable {
  readonly memory: SharedMemory
  readonly kernel: RemoteKernel
  released = 0

  constructor(kernel: RemoteKernel = faultyKernel()) {
    this.memory = SharedMemory.open({ label: 'faulty' })
    this.kernel = kernel
  }

  /** A call that commits a fault, or returns twice 1, 2, ..., 16. */
  call(fault: number, options: Partial<WorkerCall<number[]>> = {}): WorkerCall<number[]> {
    const { memory: allocator } = this
    const number = tensor('i32', [1], [fault], { allocator })
    const x = tensor(
      'f32',
      [16],
      Array.from({ length: 16 }, (_, index) => index + 1),
      { allocator },
    )
    const y = tensor('f32', [16], undefined, { allocator })
    return {
      kernel: this.kernel,
      operands: [operandOf(number, false), operandOf(x, false), operandOf(y, true)],
      gated: [number.block, x.block, y.block],
      read: () => y.toArray(),
      failure: (answer, details) => new ReportedError(answer, details),
      released: () => {
        this.released++
        // The tensors stay alive until here.
        void [number, x, y]
      },
      ...options,
    }
  }

  [Symbol.dispose](): void {
    this.memory.close()
  }
}

export const DOUBLED: readonly number[] = Array.from({ length: 16 }, (_, index) => 2 * (index + 1))
