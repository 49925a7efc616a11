import type { KernelSignature } from '@tenon/core'
import type { IsolatedKernel } from '@tenon/custom-call'
import type { WorkerHost } from '@tenon/isolate/internal'
import {
  findKernel,
  remoteKernel,
  remoteRegistrations,
  usesTensorFlow,
  type Registrations,
} from '@tenon/tensorflow/internal'
import type { KernelOptions } from '../kernels/kernel-options.ts'
import { loadStringClass } from '../kernels/string-class.ts'
import { isTensorFlow, readTensorFlowOptions, tensorFlowSignatures } from '../kernels/tensorflow-kernel.ts'
import type { LibraryFile } from '../signatures/library-file.ts'
import { sha256Of } from '../signatures/sidecar.ts'

/** The registrations that libraries make when they are loaded, by the digests of their files. */
const known = new Map<string, Registrations>()

/** The kernels of TensorFlow's C API in an isolated library. A worker loads the library to learn of them. */
export class IsolatedTensorFlow {
  readonly #host: WorkerHost
  readonly #file: LibraryFile

  constructor(host: WorkerHost, file: LibraryFile) {
    this.#host = host
    this.#file = file
  }

  /** Returns a kernel, or undefined if the library does not register the operation. @throws see {@link Library.kernel} */
  kernel(name: string, options: KernelOptions | undefined): IsolatedKernel | undefined {
    const registrations = this.#registrations()
    if (registrations === undefined || !isTensorFlow(registrations, name)) return undefined
    const { path } = this.#host
    const sidecar = this.#file.definitionOf(name)
    const found = findKernel({ path, registrations, sidecar }, name, readTensorFlowOptions(name, options))
    loadStringClass(found.signature)
    return remoteKernel({ ...found, host: this.#host }) as unknown as IsolatedKernel
  }

  /** The signatures of the operations that the library registers. */
  signatures(): readonly KernelSignature[] {
    const registrations = this.#registrations()
    if (registrations === undefined) return []
    return tensorFlowSignatures(registrations, (name) => this.#file.definitionOf(name))
  }

  #registrations(): Registrations | undefined {
    if (!usesTensorFlow(this.#file.info)) return undefined
    const digest = this.#file.read((path) => sha256Of(path))
    const found = known.get(digest) ?? remoteRegistrations(this.#host)
    known.set(digest, found)
    return found
  }
}
