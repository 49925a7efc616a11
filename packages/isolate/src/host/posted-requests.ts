import { CONSTANTS } from '@tenon/core/internal'
import type { CommandMemory } from './command-memory.ts'
import type { Execution } from './execution.ts'
import type { Answer, WorkerKernel } from './worker-call.ts'

/** A request that prepares a call, or follows it. The request of the call itself is its {@link Execution}. */
export interface PostedRequest {
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
  answered(answer: Answer): void
  /** Frees what the request has besides, once it was answered or its worker has ended. */
  end?(): void
}

const nothing = (): void => {}

/** A request without operands and body, whose answer does not matter. */
export function plainRequest(operation: number, target: number): PostedRequest {
  return { operation, target, execution: undefined, write: nothing, answered: nothing }
}

export function helloRequest(answered: (answer: Answer) => void): PostedRequest {
  return { operation: CONSTANTS.TN_HOST_HELLO, target: 0, execution: undefined, write: nothing, answered }
}

/** A request that has only a body, which fits into the slot. */
export function bodyRequest(
  operation: number,
  target: number,
  body: Uint8Array,
  execution: Execution,
  answered: (answer: Answer) => void,
): PostedRequest {
  return { operation, target, execution, write: (memory, slot) => memory.writeBody(slot, body), answered }
}

/** Returns the body of `TN_HOST_KERNEL`. @param library the id of the library */
export function kernelBody(kernel: WorkerKernel, library: number): Uint8Array {
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
