import { resolve } from 'node:path'
import { LoadError, NativeLibrary, type KernelConvention, type KernelSignature, type Tensor } from '@tenon/core'
import { readBinary, type BinaryInfo } from '@tenon/binary'
import { checkName, inspectAsText, wrongType, filePath } from '@tenon/core/internal'
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
import { openLibrary as openWithTensorFlow, readRegistrations } from '@tenon/tensorflow/internal'
import { type Downcall, type DowncallOptions, type FunctionSignature, Linker, SymbolLookup } from '@tenon/scope/linker'
import type { IsolateOptions } from '@tenon/isolate'
import type { NativeModule } from '@tenon/scope/bind'
import type { IsolatedLibrary } from './isolated/isolated-library.ts'
import type { KernelOptions } from './kernels/kernel-options.ts'
import { openKernel } from './kernels/open-kernel.ts'
import { isTensorFlow, tensorFlowKernel, tensorFlowSignatures } from './kernels/tensorflow-kernel.ts'
import { recordRegistrations, registrationsOf } from './kernels/registrations.ts'
import { packedFunctions } from './packed-functions.ts'
import { LibraryFile } from './signatures/library-file.ts'
import type { FoundSignature } from './signatures/read-signatures.ts'

const hostConventions = { 1: 'host', 2: 'host-status', 3: 'host-unified' } as const

let openLibrary: (file: LibraryFile) => Library

/**
 * A compiled library and the kernels in it.
 *
 * A kernel is found by its name, whatever its convention. Its signature comes from the library (tenon/signature.h), from a sidecar
 * beside the library, or from the options of {@link Library.kernel}. After `close()`, all calls of its functions are refused; the
 * code stays mapped.
 *
 * |                            | `Library.open()`                  | `Library.isolate()`                    |
 * | -------------------------- | --------------------------------- | -------------------------------------- |
 * | kernels run in             | this process                      | worker processes                       |
 * | a crash or an endless loop | ends or blocks this process       | is an error of the call                |
 * | operands                   | in place                          | in place in shared memory, else copied |
 * | closing during a call      | `close()` throws `ScopeHeldError` | `closeAsync()` waits for it            |
 * | `f(...)`                   | runs on this thread               | blocks this thread                     |
 * | `f.async(...)`             | runs on another thread            | does not block                         |
 *
 * @example
 * using library = Library.open('./libkernels.so')
 * const softmax = library.kernel('softmax')
 * softmax(tensor([[1, 2], [3, 4]]), { temperature: 2 }).shape // [2, 2]
 */
export class Library {
  /** The native library: symbols, addresses and functions of any signature. */
  readonly native: NativeLibrary
  readonly #file: LibraryFile
  #module: Module | undefined
  readonly #packed = new Map<string, PackedFunc>()

  static {
    inspectAsText(this)
  }

  private constructor(native: NativeLibrary, file: LibraryFile) {
    if (!(native instanceof NativeLibrary)) {
      throw wrongType('native', 'a NativeLibrary', native, 'Open the library with Library.open(path).')
    }
    this.native = native
    this.#file = file
  }

  static {
    openLibrary = (file) => {
      const { path } = file
      const native = recordRegistrations(file.identity ?? path, () => openNative(file))
      // Before anyone asks for them, because kernels register themselves here.
      readRegistrations(native)
      file.checkSame()
      const library = new Library(native, file)
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
    return openLibrary(new LibraryFile(filePath(path)))
  }

  /**
   * Opens a library in processes of its own, so that nothing its kernels do can end this process. The library is never loaded here:
   * signatures come from its file and its sidecar. A kernel that crashes, hangs or needs too much memory is an error of its call,
   * and the next call finds another worker. A kernel in a worker is contained, which is no protection against hostile code.
   *
   * With `host: 'node'`, the workers run Node.js, and kernels are the functions that a module exports.
   *
   * Given `library` of a module that `tenon bind` has written, the functions of that module run in the workers from then on.
   *
   * @param library the path of the file, or its `file:` URL; a bare name is searched for by the system's loader
   * @throws (rejects with) {LoadError} if the file is missing or is no library of this system
   * @throws (rejects with) {ArgumentError | ArgumentRangeError} if an option is not valid
   * @throws (rejects with) {UnsupportedError} if this system has no workers
   * @example
   * await using library = await Library.isolate('./libkernels.so', { workers: 2, deadline: 1000, memory: '512 MiB' })
   * const softmax = library.kernel('softmax')
   * const y = await softmax.async(tensor([[1, 2], [3, 4]]), { temperature: 2 })
   */
  static async isolate(library: string | URL | NativeModule, options?: IsolateOptions): Promise<IsolatedLibrary> {
    // Loaded here, because programs that call kernels in this process need no workers.
    const { isNativeModule, isolateLibrary, isolateModule } = await import('./isolated/isolated-library.ts')
    return isNativeModule(library) ? isolateModule(library, options) : isolateLibrary(filePath(library), options)
  }

  /** @internal Opens a library whose headers and symbols have been read already, and the signatures of some kernels. */
  static openRead(path: string, info: BinaryInfo, some: readonly FoundSignature[] = []): Library {
    return openLibrary(new LibraryFile(path, info, some))
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
    const others = this.#file.kernels(registrationsOf(this.#file.identity ?? this.path))
    const ofTensorFlow = tensorFlowSignatures(readRegistrations(this.native), (name) => this.#file.definitionOf(name))
    return ofTensorFlow.length === 0 ? others : sorted([...others, ...ofTensorFlow])
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
    const ofTensorFlow = readRegistrations(this.native)
    if (isTensorFlow(ofTensorFlow, checkName(name, 'name')))
      return tensorFlowKernel(this.native, ofTensorFlow, name, options, this.#file.definitionOf(name))
    const registered = registrationsOf(this.#file.identity ?? this.path)
    const sources = { library: this, found: this.#file.signaturesFor(checkName(name, 'name')), registered }
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
    this.#module ??= this.#file.read((path) => Module.open(path))
    const packed = this.#module.get(name)
    this.#packed.set(name, packed)
    return packed
  }

  /**
   * A C function of the library. The types of its arguments and of its result come from the signature. Structs are layouts, a callback is
   * a stub of `upcallStub`, and a pointer that the function returns is a segment of size 0. See `Linker.downcall` of `tenon/scope/linker`.
   *
   * @throws {LoadError} if the library does not export it; the hint names similar ones
   * @throws {ArgumentError} if the symbol is a variable, or the signature is not valid. @throws {ScopeClosedError} after close
   * @example
   * import { NativeScope, toCString } from 'tenon/scope'
   *
   * using scope = NativeScope.ofConfined()
   * const strlen = library.function('strlen', { result: 'uint64', parameters: ['pointer'] })
   * strlen(toCString('hello', scope)) // 5n
   */
  function<const Signature extends FunctionSignature, const Options extends DowncallOptions = {}>(
    name: string,
    signature: Signature,
    options?: Options,
  ): Downcall<Signature, Options> {
    return Linker.downcall(SymbolLookup.ofNativeLibrary(this.native).get(name), signature, options)
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
    this.checkSymbol(symbol)
    this.#file.checkConvention(symbol, convention)
  }

  /** @internal Refuses a symbol that the library does not export. @throws {LoadError} with similar ones */
  checkSymbol(symbol: string): void {
    this.native.symbol(symbol)
  }
}

/**
 * Loads a library. Packed functions of TVM to 0.20 import functions that only the runtime for packed functions has, so such a library is
 * loaded as a module first.
 */
function openNative(file: LibraryFile): NativeLibrary {
  const { path } = file
  try {
    return openWithTensorFlow(path, () => file.info)
  } catch (error) {
    if (!(error instanceof LoadError) || !hasPackedFunctions(file)) throw error
    Module.open(resolve(path)).close()
    return NativeLibrary.open(path)
  }
}

const sorted = (signatures: readonly KernelSignature[]): readonly KernelSignature[] =>
  signatures.toSorted((a, b) => (a.name < b.name ? -1 : 1))

/** Whether a file is a library with packed functions. The loader's error describes what is not a library. */
function hasPackedFunctions(file: LibraryFile): boolean {
  try {
    return packedFunctions(file.info ?? readBinary(file.path)).generation !== undefined
  } catch {
    return false
  }
}
