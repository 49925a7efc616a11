import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { ArgumentError, UnsupportedError, type KernelSignature, type Tensor } from '@tenon/core'
import { readBinary, readTextConstants, type BinaryInfo } from '@tenon/binary'
import {
  checkName,
  checkOptions,
  explainLoadFailure,
  inspectAsText,
  missingSymbol,
  nativeFormat,
  unloadable,
} from '@tenon/core/internal'
import type { IsolatedKernel } from '@tenon/custom-call'
import { isolatedCustomKernel } from '@tenon/custom-call/internal'
import type { IsolatedPackedFunc } from '@tenon/packed-func'
import { isolatedPackedFunc, packedTarget, type PackedTarget } from '@tenon/packed-func/internal'
import type { IsolateHealth, IsolateMetrics, IsolateOptions } from '@tenon/isolate'
import { splitOptions, WorkerHost } from '@tenon/isolate/internal'
import type { SharedMemory } from '@tenon/pools'
import type { NativeModule } from '@tenon/scope/bind'
import {
  checkShim,
  isNativeModule,
  librariesOf,
  linkRemote,
  RemoteModule,
  SHIM_HASH,
  useProcesses,
  type RemoteLibrary,
} from '@tenon/scope/internal'
import type { Downcall, FunctionSignature, IsolatedFunctionOptions } from '@tenon/scope/linker'
import { exportedNames } from '../exported-names.ts'
import { libraryPath } from '../library-path.ts'
import type { KernelOptions } from '../kernels/kernel-options.ts'
import { findKernel, isPacked, type SearchedLibrary } from '../kernels/open-kernel.ts'
import { packedFunctions, packedName } from '../packed-functions.ts'
import { LibraryFile } from '../signatures/library-file.ts'
import { isolatedPackedKernel } from './packed-kernel.ts'
import { scriptKernel } from './script-kernel.ts'
import { IsolatedTensorFlow } from './tensorflow-kernel.ts'

let openIsolated: (
  path: string,
  options: IsolateOptions | undefined,
  use?: (host: WorkerHost) => void,
) => Promise<IsolatedLibrary>

/**
 * A compiled library whose kernels run in processes of their own. This process never loads it: a crash, an endless loop or an
 * exhausted memory of a kernel is an error of the call, and the next call finds another worker. Made by {@link Library.isolate}.
 *
 * | what happened                                        | error of the call     |
 * | ---------------------------------------------------- | --------------------- |
 * | the kernel ended its process, or damaged it          | `KernelCrashError`    |
 * | the call did not finish within its deadline          | `KernelDeadlineError` |
 * | the kernel needed more memory than it may have       | `KernelMemoryError`   |
 * | another call ended the worker before this call began | `WorkerLostError`     |
 * | the workers crashed too often in a short time        | `CrashLoopError`      |
 * | too many calls wait for a worker                     | `QueueFullError`      |
 */
export class IsolatedLibrary implements AsyncDisposable {
  /** The absolute path of the library. */
  readonly path: string
  /** The shared memory that operands are copied to, and in which results lie. Tensors that it allocates are not copied. */
  readonly memory: SharedMemory
  readonly #host: WorkerHost
  readonly #file: LibraryFile
  readonly #isScript: boolean
  readonly #tensorFlow: IsolatedTensorFlow
  readonly #packed = new Map<string, PackedTarget>()

  static {
    inspectAsText(this)
    openIsolated = async (path, options, use) => {
      const settings = splitOptions(options)
      if (use !== undefined && settings.isScript) {
        throw new ArgumentError("a module must be isolated with host 'native', got 'node'", {
          hint: 'Workers of Node.js have kernels in TypeScript alone.',
        })
      }
      const file = new LibraryFile(resolve(libraryPath(path)), settings.isScript ? noSymbols : undefined)
      checkFile(file)
      const host = await WorkerHost.open({ path: file.path, file: () => file.refresh() }, settings)
      try {
        use?.(host)
      } catch (error) {
        await host.closeAsync()
        throw error
      }
      return new IsolatedLibrary(file, host, settings.isScript)
    }
  }

  private constructor(file: LibraryFile, host: WorkerHost, isScript: boolean) {
    this.path = file.path
    this.memory = host.allocator
    this.#host = host
    this.#file = file
    this.#isScript = isScript
    this.#tensorFlow = new IsolatedTensorFlow(host, file)
  }

  /**
   * A kernel as a function whose calls run in a worker. It takes the arguments of a kernel in this process, and `deadline`, `signal`,
   * `priority`, `affinity` and `idempotent` among the options. A call blocks this thread, `.async(...)` does not, and `.batch([...])`
   * makes several calls at once.
   *
   * @throws {LoadError} if the library does not export the kernel; the hint names similar ones
   * @throws {ArgumentError} if the kernel has neither a signature nor a convention, or an option cannot be kept in another process
   * @throws {SignatureError} if the option `signature` cannot be read. @throws {ScopeClosedError} after close
   * @example
   * await using library = await Library.isolate('./libkernels.so')
   * const softmax = library.kernel('softmax')
   * const y = await softmax.async(x, { temperature: 2 }, { deadline: 1000 })
   */
  kernel<Result = Tensor>(name: string, options?: KernelOptions): IsolatedKernel<Result> {
    const kernel = this.#kernel<Result>(name, options)
    const warmUp: IsolatedKernel['warmUp'] = (run) => this.#host.warmUp(run)
    return Object.defineProperty(kernel, 'warmUp', { value: warmUp, configurable: true })
  }

  #kernel<Result>(name: string, options: KernelOptions | undefined): IsolatedKernel<Result> {
    this.#host.checkOpen()
    const library: SearchedLibrary = {
      path: this.path,
      checkSymbol: (symbol) => this.#checkSymbol(symbol),
      checkConvention: (symbol, convention) => {
        this.#checkSymbol(symbol)
        this.#file.checkConvention(symbol, convention)
      },
    }
    const registered = this.#isScript ? undefined : this.#tensorFlow.kernel(checkName(name, 'name'), options)
    if (registered !== undefined) return registered as never
    const found = this.#file.signaturesFor(checkName(name, 'name'))
    const {
      signature,
      symbol,
      isRegistered,
      frames,
      options: others,
    } = findKernel({ library, found, registered: [] }, name, options)
    refuseOptions(name, others)
    if (this.#isScript) return scriptKernel(this.#host, signature, symbol, frames) as never
    if (isPacked(signature)) {
      return isolatedPackedKernel(this.#packedTarget(packedName(symbol), signature), signature, frames) as never
    }
    return isolatedCustomKernel(this.#host, { signature, symbol, isRegistered, frames }) as never
  }

  /**
   * A packed function whose calls run in a worker. It takes values of any types that can cross.
   *
   * @throws {PackedFuncError} of kind `AttributeError` if there is no such function. @throws {ScopeClosedError} after close
   * @example
   * await using packed = await Library.isolate('./libpacked.so')
   * await packed.packed('sum').async(1, 2) // 3
   */
  packed(name: string): IsolatedPackedFunc {
    this.#host.checkOpen()
    return isolatedPackedFunc(this.#packedTarget(checkName(name, 'name')), name)
  }

  /**
   * A C function whose calls run in a worker. Scalars, structs and texts are copied. Segments and tensors in shared memory are not;
   * others are copied to the worker and, unless they are read-only, back. Only memory whose size is known can cross, and C must not keep
   * pointers to it after the call. A pointer that the function returns is a segment that cannot be read here: functions of this library
   * take it, and run in the same worker. After the end of that worker they throw `WorkerLostError`.
   *
   * @throws {LoadError} if the library does not export it; the hint names similar ones
   * @throws {ArgumentError} if the signature or an option is not valid. @throws {ScopeClosedError} after close
   * @example
   * await using library = await Library.isolate('libc.so.6')
   * const strlen = library.function('strlen', { result: 'uint64', parameters: ['text'] })
   * await strlen.async('hello') // 5n
   */
  function<const Signature extends FunctionSignature, const Options extends IsolatedFunctionOptions = {}>(
    name: string,
    signature: Signature,
    options?: Options,
  ): Downcall<Signature, Options> {
    this.#host.checkOpen()
    if (this.#isScript) {
      throw new UnsupportedError('a library in TypeScript has no functions of C', { hint: 'Call its kernels.' })
    }
    this.#checkSymbol(checkName(name, 'name'))
    return linkRemote<Signature, Options>(this.#host, name, signature, options)
  }

  /**
   * The signatures of all kernels that the file and its sidecar state, sorted by name, and those of TensorFlow's C API, for which a
   * worker loads the library once. Handlers that the library registers itself are not among them.
   *
   * @throws {SidecarError} if the sidecar is damaged, or describes another library. @throws {ScopeClosedError} after close
   */
  kernels(): readonly KernelSignature[] {
    this.#host.checkOpen()
    const own = this.#file.kernels([])
    return this.#isScript
      ? own
      : [...own, ...this.#tensorFlow.signatures()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  /**
   * Loads the library in all workers, one of them first. Without it, a worker loads the library for its first call. Use it to learn
   * early whether the library can be loaded. Workers that replace others load the library for their first call.
   *
   * @param options `deadline`: the longest time for one worker in milliseconds. By default that of the library.
   * @throws (rejects with) {LoadError} if the library cannot be loaded
   * @throws (rejects with) {KernelCrashError} if it ends its worker while it is loaded
   * @throws (rejects with) {KernelDeadlineError} if it takes longer than the deadline
   * @throws (rejects with) {ArgumentError | ArgumentRangeError} if the deadline is not valid
   * @throws (rejects with) {ScopeClosedError} after close
   * @example
   * await using library = await Library.isolate('./libkernels.so')
   * await library.load({ deadline: 10_000 })
   */
  async load(options?: { readonly deadline?: number }): Promise<void> {
    const { deadline } = checkOptions(options, ['deadline'], 'the options of load()')
    await this.#host.load(deadline)
  }

  /** The state of the workers. It never waits. */
  health(): IsolateHealth {
    return this.#host.health()
  }

  /** Counts of calls, and times, since the library was opened. */
  metrics(): IsolateMetrics {
    return this.#host.metrics()
  }

  /**
   * Replaces all workers, also after a crash loop. Calls in progress end first. The states of handlers end with their workers.
   *
   * @throws (rejects with) {ScopeClosedError} after close
   */
  async restart(): Promise<void> {
    await this.#host.restart()
  }

  /**
   * Refuses new calls, waits for those in progress, and ends the workers. Results stay readable: their memory is freed when they
   * are collected. A second call waits for the first one.
   *
   * @param options `deadline`: the time in milliseconds after which calls in progress are ended as well. By default, each has its own.
   * @throws (rejects with) {ArgumentError | ArgumentRangeError} if the deadline is not valid.
   * @example
   * const library = await Library.isolate('./libkernels.so')
   * await library.closeAsync({ deadline: 1000 })
   */
  async closeAsync(options?: { readonly deadline?: number }): Promise<void> {
    await this.#host.closeAsync(options)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.closeAsync()
  }

  /** The class, the path and the state, as text. */
  toString(): string {
    return `IsolatedLibrary ${this.path} (${this.health().state})`
  }

  #checkSymbol(symbol: string): void {
    // A function of a script is looked up in the worker.
    if (this.#isScript || this.#file.info?.exports.some(({ name }) => name === symbol) === true) return
    throw missingSymbol(this.path, symbol)
  }

  #packedTarget(name: string, signature?: KernelSignature): PackedTarget {
    const known = this.#packed.get(name)
    if (known !== undefined) return known
    const { info } = this.#file
    const { generation, names } = info === undefined ? { generation: undefined, names: [] } : packedFunctions(info)
    const isLegacy = signature === undefined ? generation === 'TVM to 0.20' : signature.convention === 'legacy'
    const target = packedTarget(this.#host, name, names, isLegacy)
    this.#packed.set(name, target)
    return target
  }
}

/** Opens a library in workers. @throws see {@link Library.isolate} */
export function isolateLibrary(path: string, options: IsolateOptions | undefined): Promise<IsolatedLibrary> {
  return openIsolated(path, options)
}

export { isNativeModule }

/** Runs the functions of a module that `tenon bind` has written in workers. @throws see {@link Library.isolate} */
export async function isolateModule(
  module: NativeModule,
  options: IsolateOptions | undefined,
): Promise<IsolatedLibrary> {
  const { libraries, shim } = librariesOf(module)
  const [first] = libraries
  if (first === undefined) {
    throw new ArgumentError('a module must have a library to be isolated, got one for the functions of this process', {
      hint: 'Run tenon bind with --library.',
    })
  }
  const files = [...libraries, ...(shim ? [shim.path] : [])].map((path) => resolve(libraryPath(path)))
  return openIsolated(first, options, (host) => {
    if (shim) checkShim(shim.path, shim.hash, hashOf(shim.path))
    useProcesses(module, new RemoteModule(host, files.map(remoteLibrary)))
  })
}

function hashOf(path: string): string | undefined {
  const symbols = readBinary(path).exports.filter(({ name }) => name === SHIM_HASH)
  const [text] = readTextConstants(path, symbols)
  return typeof text === 'string' ? text : undefined
}

function remoteLibrary(path: string): RemoteLibrary {
  const names = exportedNames(path)
  return { path, exports: (name) => names.has(name) }
}

/** The headers of a script, whose kernels only a sidecar or the options describe. */
const noSymbols: BinaryInfo = {
  format: nativeFormat,
  kind: 'other',
  arch: process.arch,
  architectures: [process.arch],
  bits: 64,
  endianness: 'little',
  needed: [],
  rpath: [],
  runpath: [],
  exports: [],
  imports: [],
}

/** @throws {LoadError} if the file is missing, or cannot be a library of this system. */
function checkFile(file: LibraryFile): void {
  const { path } = file
  const problem = existsSync(path) ? unloadable(path) : 'no such file'
  if (problem !== undefined) throw explainLoadFailure(path, problem)
  let info: BinaryInfo | undefined
  try {
    info = file.info
  } catch (error) {
    throw explainLoadFailure(path, (error as Error).message)
  }
  const isOwn = info!.format === nativeFormat && info!.architectures.includes(process.arch)
  if (!isOwn) throw explainLoadFailure(path, 'it is for another system')
}

/** Refuses options of kernels that workers do not have. @throws {ArgumentError} */
function refuseOptions(
  name: string,
  { allowNewerApi, platform }: Pick<KernelOptions, 'allowNewerApi' | 'platform'>,
): void {
  if (allowNewerApi === true) {
    throw new ArgumentError(
      `allowNewerApi must not be given to ${name}, because workers check the version themselves`,
      {
        hint: 'Build the library against older headers, or open it with Library.open().',
      },
    )
  }
  if (platform !== undefined && !/^(?:host|cpu)$/i.test(platform)) {
    throw new ArgumentError(`the platform of ${name} must be Host in another process, got ${platform}`, {
      hint: 'Open the library with Library.open() for kernels of devices.',
      details: { expected: 'Host', received: platform },
    })
  }
}
