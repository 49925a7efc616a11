import { CONSTANTS, type RemoteAnswer, type RemoteHost, type RemoteKernel } from '@tenon/core/internal'
import type { TensorFlowError } from '../errors/tensorflow-error.ts'
import { readFailure } from '../native/read-failure.ts'

/** A kernel with its attributes in a worker. */
export interface RemoteInstance {
  readonly kernel: RemoteKernel
  runs: number
}

/** The kernels with attributes that workers keep for one operation, the one that was used last at the end. */
export class RemoteInstances {
  readonly #host: RemoteHost
  readonly #most: number
  readonly #kept: RemoteInstance[] = []

  constructor(host: RemoteHost, most: number) {
    this.#host = host
    this.#most = most
  }

  /** Returns the kernel with a description, for a run that ends with {@link give}. */
  take(name: string, descriptor: Buffer, operands: number, results: number): RemoteInstance {
    const known = this.#kept.findIndex(({ kernel }) => descriptor.equals(kernel.descriptor))
    const instance = known === -1 ? this.#make(name, descriptor, operands, results) : this.#kept.splice(known, 1)[0]!
    this.#kept.push(instance)
    instance.runs++
    if (this.#kept.length > this.#most) {
      const oldest = this.#kept.shift()!
      if (oldest.runs === 0) this.#host.forget(oldest.kernel)
    }
    return instance
  }

  #make(name: string, descriptor: Buffer, operands: number, results: number): RemoteInstance {
    const { path: library, file } = this.#host
    const convention = CONSTANTS.TN_HOST_TENSORFLOW
    return {
      kernel: { name, library, file, convention, symbols: ['', '', '', name], operands, results, descriptor },
      runs: 0,
    }
  }

  give(instance: RemoteInstance): void {
    instance.runs--
    if (instance.runs === 0 && !this.#kept.includes(instance)) this.#host.forget(instance.kernel)
  }

  /** Forgets all kernels that no run uses. */
  clear(): void {
    for (const { kernel, runs } of this.#kept.splice(0)) if (runs === 0) this.#host.forget(kernel)
  }

  /** The error of the kernel, or undefined for one that does not depend on the convention. */
  failure(operation: string, { error, body }: RemoteAnswer): TensorFlowError | undefined {
    if (error !== CONSTANTS.TN_HOST_TENSORFLOW_ERROR) return undefined
    return readFailure(Buffer.from(body), operation, this.#host.path)
  }
}
