import { existsSync } from 'node:fs'
import { ArgumentError, NativeLibrary, readBinary, type BinaryInfo } from '@tenon/core'
import { inspectAsText, wrongType } from '@tenon/core/internal'
import {
  customCall,
  hostCall,
  type CustomCall,
  ApiVersion,
  type HandlerOptions,
  type HandlerSymbols,
  type HostCall,
  type HostFunctionOptions,
} from '@tenon/custom-call'
import { filePath } from './file-path.ts'
import { markedCalls, type CallConvention, type MarkedCall } from './marked-calls.ts'

const hostConventions = { 1: 'host', 2: 'host-status', 3: 'host-unified' } as const

/**
 * A compiled library and the kernels in it.
 *
 * The marks of the library (tenon/xla_mark.h) are checked before a call, so that a typed handler and a function of an older
 * convention cannot be confused. After `close()`, all calls of its functions are refused; the code stays mapped.
 *
 * @example
 * using library = Library.open('./libkernels.so')
 * const rmsNorm = library.customCall('rms_norm')
 * const y = rmsNorm([x], { results: [f32([2, 4])], attrs: { eps: f32(1e-5) } })
 */
export class Library {
  /** The native library: symbols, addresses and functions of any signature. */
  readonly native: NativeLibrary
  #info: BinaryInfo | undefined

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

  /**
   * Opens a library.
   *
   * @param path of the file, or its `file:` URL; a bare name (`libm.so.6`) is searched for by the system's loader
   * @throws {LoadError} that names the problem of the file: it is missing, is not a library, is for another processor, or
   * lacks a dependency
   * @throws {ArgumentError} if the path is neither a path nor a `file:` URL
   */
  static open(path: string | URL): Library {
    return new Library(NativeLibrary.open(filePath(path)))
  }

  /** @internal Opens a library whose headers and symbols have been read already. */
  static openRead(path: string, info: BinaryInfo): Library {
    return new Library(NativeLibrary.open(path), info)
  }

  /** The path that was passed to {@link Library.open}. */
  get path(): string {
    return this.native.path
  }

  /** The custom calls that the library marks. Empty if there are no marks, or the library was found by a bare name. */
  get customCalls(): readonly MarkedCall[] {
    const info = this.#readInfo()
    return info === undefined ? [] : markedCalls(info)
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
    for (const name of names) if (name !== undefined) this.#check(name, 'typed')
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
    this.#check(symbol, hostConventions[options.apiVersion ?? ApiVersion.ORIGINAL])
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

  /** Refuses a symbol that cannot be called with the convention. Calling it anyway would be undefined behaviour. */
  #check(symbol: string, convention: CallConvention): void {
    this.native.symbol(symbol)
    const exports = this.#readInfo()?.exports ?? []
    if (exports.some(({ name, kind }) => name === symbol && kind === 'object')) {
      throw new ArgumentError(`${symbol} must be a function, got data`, { details: { path: this.path, symbol } })
    }
    const marked = this.customCalls.filter(({ name }) => name === symbol).map((call) => call.convention)
    if (marked.length > 0 && !marked.includes(convention)) {
      throw new ArgumentError(`${symbol} must be called as a ${marked[0]} custom call, got ${convention}`, {
        hint: 'Call it by the convention that its library marks, because another one reads and writes arbitrary memory.',
        details: { path: this.path, symbol, expected: marked, received: convention },
      })
    }
  }

  #readInfo(): BinaryInfo | undefined {
    if (this.#info === undefined && existsSync(this.path)) this.#info = readBinary(this.path)
    return this.#info
  }
}
