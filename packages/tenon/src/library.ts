import { existsSync } from 'node:fs'
import { ArgumentError, LoadError, NativeLibrary, readBinary, type BinaryInfo } from '@tenon/core'
import { didYouMean } from '@tenon/core/internal'
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
import { isMark, markedCalls, type CallConvention, type MarkedCall } from './marked-calls.ts'
import { unmangledHint } from './unmangled-hint.ts'

/** What libraries call the untyped Host conventions in their marks. */
const hostConventions = { 1: 'host', 2: 'host-status', 3: 'host-unified' } as const

/**
 * A compiled library and the kernels in it.
 *
 * What the library marks (tenon/xla_mark.h) is checked before anything is called: a typed handler and a function of an
 * older convention can't be taken for each other. Closing refuses everything that came from it; the code stays mapped.
 *
 * @example
 * using library = Library.open('./libkernels.so')
 * const rmsNorm = library.customCall('rms_norm')
 * const y = rmsNorm([x], { results: [f32([2, 4])], attrs: { eps: f32(1e-5) } })
 */
export class Library {
  /** The library as core has it: symbols, addresses and functions of any signature. */
  readonly native: NativeLibrary
  #info: BinaryInfo | undefined

  static {
    // What console.log asks for.
    Object.defineProperty(this.prototype, Symbol.for('nodejs.util.inspect.custom'), { value: this.prototype.toString })
  }

  private constructor(native: NativeLibrary) {
    this.native = native
  }

  /**
   * Opens a library.
   *
   * @param path of the file, or its `file:` URL; a bare name (`libm.so.6`) is searched for by the system's loader
   * @throws {LoadError} saying what is wrong with the file: missing, no library, for another processor, or which
   * dependency it lacks
   * @throws {ArgumentError} if the path is neither a path nor a `file:` URL
   */
  static open(path: string | URL): Library {
    return new Library(NativeLibrary.open(filePath(path)))
  }

  /** The path as it was given. */
  get path(): string {
    return this.native.path
  }

  /** The custom calls that the library marks; empty if it marks none, or was found by a bare name. */
  get customCalls(): readonly MarkedCall[] {
    const info = this.#readInfo()
    return info === undefined ? [] : markedCalls(info)
  }

  /**
   * A typed custom call (XLA FFI) as a function. It is asked for its version now.
   *
   * @param symbols the name of the handler, or the names of the handlers of all its stages
   * @throws {LoadError} if there is no such symbol; the hint names those that are nearly alike
   * @throws {ArgumentError} if the library marks it as something else, or it answers nothing when it is asked
   * @throws {XlaError} if it answers with an error. A function that is no handler and isn't marked does what it does when
   * it is asked: what it leaves may look like an error, and it may end the process.
   * @throws {VersionSkewError} if it was built for a version that isn't spoken here
   * @throws {ScopeClosedError} after close
   */
  customCall(symbols: string | HandlerSymbols, options: HandlerOptions = {}): CustomCall {
    const names = typeof symbols === 'string' ? [symbols] : Object.values<string | undefined>({ ...symbols })
    for (const name of names) if (name !== undefined) this.#check(name, 'typed')
    return customCall(this.native, symbols, options)
  }

  /**
   * An untyped Host function as a function: `void f(void* out, const void** in)`, unless `apiVersion` says otherwise. It
   * can't check what it is given: operands and results must be of the types that it was written for.
   *
   * @throws {LoadError} if there is no such symbol; the hint names those that are nearly alike
   * @throws {ArgumentError} if the library marks it as something else
   * @throws {ScopeClosedError} after close
   */
  hostCall(symbol: string, options: HostFunctionOptions = {}): HostCall {
    this.#check(symbol, hostConventions[options.apiVersion ?? ApiVersion.ORIGINAL])
    return hostCall(this.native, symbol, options)
  }

  /** Closes the library: it and all that came from it refuse to work from here on. @throws {ScopeHeldError} while a call runs */
  close(): void {
    this.native.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  /** For people: its path. */
  toString(): string {
    return `Library ${this.path}`
  }

  /** Refuses what can't be called so: calling it to find out could do anything. */
  #check(symbol: string, convention: CallConvention): void {
    const exports = this.#readInfo()?.exports ?? []
    if (!this.native.has(symbol)) {
      const names = exports.map(({ name }) => name).filter((name) => !isMark(name))
      throw new LoadError(`${this.path} has no symbol ${symbol}`, {
        hint:
          unmangledHint(symbol, names) ??
          didYouMean(symbol, names) ??
          'it may be built with hidden visibility, or C++ may have changed the name (extern "C" keeps it).',
        details: { path: this.path, symbol },
      })
    }
    if (exports.some(({ name, kind }) => name === symbol && kind === 'object')) {
      throw new ArgumentError(`${symbol} is data, not a function`, { details: { path: this.path, symbol } })
    }
    const marked = this.customCalls.filter(({ name }) => name === symbol).map((call) => call.convention)
    if (marked.length > 0 && !marked.includes(convention)) {
      throw new ArgumentError(`${symbol} is a ${marked[0]} custom call, as its library says, not a ${convention} one`, {
        hint: 'called by another convention it would read and write anywhere.',
        details: { path: this.path, symbol, marked, asked: convention },
      })
    }
  }

  #readInfo(): BinaryInfo | undefined {
    if (this.#info === undefined && existsSync(this.path)) this.#info = readBinary(this.path)
    return this.#info
  }
}
