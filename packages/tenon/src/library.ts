import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  ArgumentError,
  LoadError,
  NativeLibrary,
  readBinary,
  type BinaryInfo,
  type KernelConvention,
  type KernelSignature,
  type NativeFunction,
  type Signature,
  type Tensor,
  type Value,
} from '@tenon/core'
import { checkName, inspectAsText, wrongType } from '@tenon/core/internal'
import {
  customCall,
  hostCall,
  type CustomCall,
  ApiVersion,
  type HandlerOptions,
  type HandlerSymbols,
  type HostCall,
  type HostFunctionOptions,
  type Kernel,
  type KernelHandler,
} from '@tenon/custom-call'
import { Module, type PackedFunc } from '@tenon/packed-func'
import { filePath } from './file-path.ts'
import type { KernelOptions } from './kernels/kernel-options.ts'
import { openKernel } from './kernels/open-kernel.ts'
import { recordRegistrations, registrationsOf } from './kernels/registrations.ts'
import { packedFunctions } from './packed-functions.ts'
import { libraryKernels, type LibraryKernel } from './signatures/library-kernels.ts'
import { readSignatures, type FoundSignature } from './signatures/read-signatures.ts'
import { unknownSignature } from './signatures/unknown-signature.ts'

const hostConventions = { 1: 'host', 2: 'host-status', 3: 'host-unified' } as const

let openLibrary: (path: string, info: BinaryInfo | undefined) => Library

/**
 * A compiled library and the kernels in it.
 *
 * A kernel is found by its name, whatever its convention. Its signature comes from the library (tenon/signature.h), from a sidecar
 * beside the library, or from the options of {@link Library.kernel}. After `close()`, all calls of its functions are refused; the
 * code stays mapped.
 *
 * @example
 * using library = Library.open('./libkernels.so')
 * const softmax = library.kernel('softmax')
 * softmax(tensor([[1, 2], [3, 4]]), { temperature: 2 }).shape // [2, 2]
 */
export class Library {
  /** The native library: symbols, addresses and functions of any signature. */
  readonly native: NativeLibrary
  #info: BinaryInfo | undefined
  #kernels: ReadonlyMap<string, LibraryKernel> | undefined
  #found: readonly FoundSignature[] | undefined
  /** What is known about single kernels, without the others. */
  #some: readonly FoundSignature[] = []
  #module: Module | undefined
  readonly #packed = new Map<string, PackedFunc>()

  static {
    inspectAsText(this)
  }

  private constructor(native: NativeLibrary, info?: BinaryInfo) {
    if (!(native instanceof NativeLibrary)) {
      throw wrongType('native', 'a NativeLibrary', native, 'Open the library with Library.open(path).')
    }
    this.native = native
    this.#info = info
  }

  static {
    openLibrary = (path, info) => {
      const native = recordRegistrations(resolve(path), () => openNative(path, info))
      const library = new Library(native, info)
      native.addCloseAction(() => {
        for (const packed of library.#packed.values()) packed[Symbol.dispose]()
        library.#module?.[Symbol.dispose]()
      })
      return library
    }
  }

  /**
   * Opens a library.
   *
   * @param path of the file, or its `file:` URL; a bare name (`libm.so.6`) is searched for by the system's loader
   * @throws {LoadError} that names the problem of the file: it is missing, is not a library, is for another processor, or
   * lacks a dependency
   * @throws {ArgumentError} if the path is neither a path nor a `file:` URL
   */
  static open(path: string | URL): Library {
    return openLibrary(filePath(path), undefined)
  }

  /** @internal Opens a library whose headers and symbols have been read already, and the signatures of some kernels. */
  static openRead(path: string, info: BinaryInfo, some: readonly FoundSignature[] = []): Library {
    const library = openLibrary(path, info)
    library.#some = some
    return library
  }

  /** The path that was passed to {@link Library.open}. */
  get path(): string {
    return this.native.path
  }

  /**
   * The signatures of all kernels that the file, its sidecar, and the registrations of the library state, sorted by name. No function is
   * called. A kernel about which only the convention is known has a signature without parameters, whose `source` is `none`.
   *
   * @throws {SidecarError} if the sidecar is damaged, or describes another library. @throws {ScopeClosedError} after close
   */
  kernels(): readonly KernelSignature[] {
    this.native.checkOpen()
    const found = this.#readSignatures().map(({ signature }) => signature)
    const known = new Set(found.map(({ name }) => name))
    const registered = registrationsOf(resolve(this.path)).filter((name) => !known.has(name))
    return [...found, ...registered.map((name) => unknownSignature(name, 'typed'))].toSorted((a, b) =>
      a.name < b.name ? -1 : 1,
    )
  }

  /**
   * A kernel as a function, whatever its convention. The call takes the operands in order, then the attributes as an object if the
   * kernel has attributes, and then options such as `into`. It returns the result, an object of results by name if there are several,
   * or `undefined`. A kernel without a signature takes `{ results, attrs }` behind its operands, or the values of a packed function.
   *
   * The type argument is the type of the result, for example `{ values: Tensor; indices: Tensor }` of a kernel with two results.
   *
   * @throws {LoadError} if the library does not export the kernel; the hint names similar ones
   * @throws {ArgumentError} if the kernel has neither a signature nor a convention, or the convention contradicts the library's
   * @throws {SignatureError} if the option `signature` cannot be read
   * @throws {VersionSkewError} if the handler was built for an unsupported version. @throws {ScopeClosedError} after close
   * @example
   * const topk = library.kernel<{ values: Tensor; indices: Tensor }>('topk')
   * const { values, indices } = topk(tensor([3, 1, 2]), { k: 2 })
   * const later = await library.kernel('softmax').async(tensor([[1, 2]]), {}, { deadline: 1000 })
   */
  kernel<Result = Tensor>(name: string, options?: KernelOptions): Kernel<Result, KernelHandler | PackedFunc> {
    this.native.checkOpen()
    const registered = registrationsOf(resolve(this.path))
    const sources = { library: this, found: this.#signaturesFor(checkName(name, 'name')), registered }
    return openKernel(sources, name, options)
  }

  /**
   * A packed function of the library. See `Module.get` of `tenon/packed-func`. The function is closed with the library.
   *
   * @throws {PackedFuncError} of kind `AttributeError` if there is no such function. @throws {ScopeClosedError} after close
   * @example
   * using packed = Library.open('./libpacked.so')
   * packed.packed('add_one')(tensor([1]), tensor('f32', [1], [0]))
   */
  packed(name: string): PackedFunc {
    this.native.checkOpen()
    const known = this.#packed.get(name)
    if (known?.isAlive === true) return known
    this.#module ??= Module.open(resolve(this.path))
    const packed = this.#module.get(name)
    this.#packed.set(name, packed)
    return packed
  }

  /**
   * A function of the library with any signature. See `NativeLibrary.function` of `tenon/core`.
   *
   * @throws {LoadError} if the library does not export it. @throws {ArgumentError} if the signature is not valid.
   * @example
   * library.function('strlen', { result: 'uint64', parameters: ['pointer'] })
   */
  function(name: string, signature: Signature): NativeFunction<Value> {
    return this.native.function(name, signature)
  }

  /**
   * A typed custom call (XLA FFI) as a function. The handler is asked for its version now.
   *
   * @param symbols the name of the handler, or the names of the handlers of all its stages
   * @throws {LoadError} if the library does not export it; the hint names similar ones
   * @throws {ArgumentError} if the library marks it as something else, or it does not report a version
   * @throws {XlaError} if it returns an error. Asking an unmarked function that is not a handler runs it, with undefined
   * behaviour.
   * @throws {VersionSkewError} if it was built for an unsupported version
   * @throws {ScopeClosedError} after close
   */
  customCall(symbols: string | HandlerSymbols, options: HandlerOptions = {}): CustomCall {
    const names = typeof symbols === 'string' ? [symbols] : Object.values<string | undefined>({ ...symbols })
    for (const name of names) if (name !== undefined) this.checkConvention(name, 'typed')
    return customCall(this.native, symbols, options)
  }

  /**
   * An untyped host custom call as a function: `void f(void* out, const void** in)`, unless `apiVersion` selects another
   * convention. The kernel cannot check its arguments, so operands and results must have the types that it expects.
   *
   * @throws {LoadError} if the library does not export it; the hint names similar ones
   * @throws {ArgumentError} if the library marks it as something else
   * @throws {ScopeClosedError} after close
   */
  hostCall(symbol: string, options: HostFunctionOptions = {}): HostCall {
    this.checkConvention(symbol, hostConventions[options.apiVersion ?? ApiVersion.ORIGINAL])
    return hostCall(this.native, symbol, options)
  }

  /**
   * Closes the library. Calls of its functions are refused from then on.
   *
   * @throws {ScopeHeldError} while a call runs @throws {ScopeClosedError} if it is closed already
   */
  close(): void {
    this.native.close()
  }

  [Symbol.dispose](): void {
    this.native[Symbol.dispose]()
  }

  /** The class and the path, as text. */
  toString(): string {
    return `Library ${this.path}`
  }

  /** @internal Refuses a symbol that cannot be called with the convention. Calling it anyway would be undefined behaviour. */
  checkConvention(symbol: string, convention: KernelConvention): void {
    this.native.symbol(symbol)
    const exports = this.#readInfo()?.exports ?? []
    if (exports.some(({ name, kind }) => name === symbol && kind === 'object')) {
      throw new ArgumentError(`${symbol} must be a function, got data`, { details: { path: this.path, symbol } })
    }
    const known = this.#readKernels().get(symbol)
    if (known?.isStated === true && known.symbol === symbol && known.convention !== convention) {
      throw new ArgumentError(`${symbol} must be called as a ${known.convention} kernel, got ${convention}`, {
        hint: 'Call it by the convention that its library marks, because another one reads and writes arbitrary memory.',
        details: { path: this.path, symbol, expected: known.convention, received: convention },
      })
    }
  }

  #readInfo(): BinaryInfo | undefined {
    if (this.#info === undefined && existsSync(this.path)) this.#info = readBinary(this.path)
    return this.#info
  }

  #readKernels(): ReadonlyMap<string, LibraryKernel> {
    const info = this.#readInfo()
    this.#kernels ??= info === undefined ? new Map() : libraryKernels(info)
    return this.#kernels
  }

  /** The signature of one kernel, or those of all if it has none. Most programs use few of the kernels of a large library. */
  #signaturesFor(name: string): readonly FoundSignature[] {
    if (this.#found !== undefined) return this.#found
    const known = this.#some.filter(({ signature }) => signature.name === name)
    if (known.length > 0) return known
    const info = this.#readInfo()
    const read = info === undefined ? [] : readSignatures(this.path, info, { name })
    if (read.every(({ signature }) => signature.source === 'none')) return this.#readSignatures()
    this.#some = [...this.#some, ...read]
    return read
  }

  #readSignatures(): readonly FoundSignature[] {
    const info = this.#readInfo()
    this.#found ??= info === undefined ? [] : readSignatures(this.path, info)
    return this.#found
  }
}

/**
 * Loads a library. Packed functions of TVM to 0.20 import functions that only the runtime for packed functions has, so such a library is
 * loaded as a module first.
 */
function openNative(path: string, info: BinaryInfo | undefined): NativeLibrary {
  try {
    return NativeLibrary.open(path)
  } catch (error) {
    if (!(error instanceof LoadError) || !hasPackedFunctions(path, info)) throw error
    Module.open(resolve(path)).close()
    return NativeLibrary.open(path)
  }
}

/** Whether a file is a library with packed functions. The loader's error describes what is not a library. */
function hasPackedFunctions(path: string, info: BinaryInfo | undefined): boolean {
  try {
    return packedFunctions(info ?? readBinary(path)).generation !== undefined
  } catch {
    return false
  }
}
