import { readBinary } from '@tenon/core/internal'
import type { NativeLibrary } from '@tenon/core'
import { inspectAsText } from '@tenon/core/internal'
import { HOST_DEVICES } from './choose-kernel.ts'
import { openKernel, type TensorFlowKernel, type TensorFlowKernelOptions } from './kernel.ts'
import { openLibrary } from './native/open-library.ts'
import { readRegistrations } from './native/read-registrations.ts'

/**
 * A library of kernels for TensorFlow's C API, for programs that do not use `Library` of `tenon`.
 *
 * @example
 * using library = TensorFlowLibrary.open('./libtext_ops.so')
 * library.operations() // ['Decorate']
 * const decorate = library.kernel('Decorate')
 */
export class TensorFlowLibrary {
  readonly native: NativeLibrary

  private constructor(native: NativeLibrary) {
    this.native = native
  }

  /**
   * Opens a library, which registers its kernels.
   *
   * @throws {LoadError} if it cannot be loaded, or the process has TensorFlow itself
   */
  static open(path: string): TensorFlowLibrary {
    const native = openLibrary(path, () => readBinary(path))
    try {
      readRegistrations(native)
    } catch (error) {
      native.close()
      throw error
    }
    return new TensorFlowLibrary(native)
  }

  /** The names of the operations of which the library has kernels for the CPU, sorted. */
  operations(): readonly string[] {
    const { kernels } = readRegistrations(this.native)
    const ofHost = kernels.filter(({ device }) => HOST_DEVICES.some((name) => name === device))
    return [...new Set(ofHost.map(({ operation }) => operation))].toSorted()
  }

  /**
   * A kernel by the name of its operation.
   *
   * @throws {ArgumentError} if the library has no kernel of the operation, or no definition of it is known
   * @throws {UnsupportedError} if the operation has operands or attributes that exist only inside TensorFlow
   */
  kernel(name: string, options?: TensorFlowKernelOptions): TensorFlowKernel {
    const { native } = this
    native.checkOpen()
    return openKernel({ path: native.path, gate: native.gate, registrations: readRegistrations(native) }, name, options)
  }

  /** Closes the library, and deletes its kernels. @throws {ScopeHeldError} while a call runs */
  close(): void {
    this.native.close()
  }

  [Symbol.dispose](): void {
    this.native[Symbol.dispose]()
  }

  toString(): string {
    return `TensorFlowLibrary ${this.native.path}`
  }
}
inspectAsText(TensorFlowLibrary)
