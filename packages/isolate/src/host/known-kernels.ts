import { Pace } from './pace.ts'
import type { Answer, WorkerKernel } from './worker-call.ts'

/** A kernel, or a library, that a worker has prepared or is preparing. */
export interface Known {
  readonly id: number
  /** The answer to the request that prepares it, if it failed. */
  failure: Answer | undefined
  readonly pace: Pace
}

/** The libraries and kernels that one worker knows. Those that could not be prepared are forgotten, so the next call tries again. */
export class KnownKernels {
  readonly #kernels = new Map<WorkerKernel, Known>()
  readonly #libraries = new Map<string, Known>()
  #nextId = 1

  find(kernel: WorkerKernel): Known | undefined {
    return this.#kernels.get(kernel)
  }

  findLibrary(path: string): Known | undefined {
    return this.#libraries.get(path)
  }

  add(kernel: WorkerKernel): Known {
    const known: Known = { id: this.#nextId++, failure: undefined, pace: new Pace() }
    this.#kernels.set(kernel, known)
    return known
  }

  addLibrary(path: string): Known {
    const known: Known = { id: this.#nextId++, failure: undefined, pace: new Pace() }
    this.#libraries.set(path, known)
    return known
  }

  /** Notes the answer to a request that prepares a kernel or a library. */
  settle(known: Known, answer: Answer, key: WorkerKernel | string): void {
    if (answer.status === 0) return
    known.failure = answer
    if (typeof key === 'string') {
      if (this.#libraries.get(key) === known) this.#libraries.delete(key)
    } else if (this.#kernels.get(key) === known) {
      this.#kernels.delete(key)
    }
  }

  /** Forgets a kernel. @returns its id if the worker must release it */
  forget(kernel: WorkerKernel): number | undefined {
    const known = this.#kernels.get(kernel)
    this.#kernels.delete(kernel)
    return known?.failure === undefined ? known?.id : undefined
  }
}
