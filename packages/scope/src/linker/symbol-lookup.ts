import { LoadError, NativeLibrary } from '@tenon/core'
import { checkOptions, type Gate, inspectAsText, wrongType } from '@tenon/core/internal'
import { type ResourceScope, checkScope } from '../scope/check-scope.ts'
import { globalScope } from '../scope/gc-scopes.ts'
import type { MemorySegment } from '../segment/memory-segment.ts'
import { SymbolSegment } from './symbol-segment.ts'

/** Options for looking up a symbol. */
export interface SymbolOptions {
  /** The version of the symbol, such as `GLIBC_2.2.5`. The default is the one that the library names as such. Needs glibc. */
  readonly version?: string
}

/** Looks up functions and variables in native libraries. Symbols can be used until their scope is closed. */
export class SymbolLookup {
  readonly #owner: { readonly gate: Gate }
  readonly #library: NativeLibrary
  readonly #title: string

  private constructor(owner: { readonly gate: Gate }, library: NativeLibrary, title: string) {
    if (!(library instanceof NativeLibrary)) {
      throw wrongType('library', 'a NativeLibrary', library, 'Use SymbolLookup.ofLibrary(path, scope).')
    }
    this.#owner = owner
    this.#library = library
    this.#title = title
  }

  /**
   * Loads a library, which is closed with the scope, after the close actions, so that they can call its functions. The code of the
   * library stays mapped.
   *
   * @param path a path, or a name that the system's loader searches for.
   * @throws {LoadError} with the reason for the failure. @throws {ScopeClosedError} once closing has begun.
   */
  static ofLibrary(path: string, scope: ResourceScope): SymbolLookup {
    const owner = checkScope(scope)
    const library = NativeLibrary.open(path)
    owner.addLastAction(() => library.close())
    return new SymbolLookup(owner, library, path)
  }

  /**
   * The symbols of a library that is open, which can be used until it is closed.
   *
   * @throws {ArgumentError} if the value is not a library.
   */
  static ofNativeLibrary(library: NativeLibrary): SymbolLookup {
    const title = library instanceof NativeLibrary ? library.path : ''
    return new SymbolLookup(library, library, title)
  }

  /** The libraries loaded into this process, such as the C library. Their symbols can always be used. */
  static ofProcess(): SymbolLookup {
    return new SymbolLookup(globalScope, NativeLibrary.ofProcess(), 'this process')
  }

  /**
   * Returns a symbol, or undefined if no library exports it.
   *
   * @throws {ScopeClosedError} after the scope has closed. @throws {UnsupportedError} for a version where symbols have none.
   * @example
   * SymbolLookup.ofProcess().find('memcpy', { version: 'GLIBC_1.0' }) // undefined
   */
  find(name: string, options?: SymbolOptions): MemorySegment | undefined {
    const { version } = checkOptions(options, ['version'])
    if (version === undefined) return this.#library.has(name) ? this.get(name) : undefined
    const address = this.#library.versionedSymbol(name, version)
    return address === undefined ? undefined : this.#symbol(address, name)
  }

  /** Returns a symbol. @throws {LoadError} if no library exports it, else as {@link find}. */
  get(name: string, options?: SymbolOptions): MemorySegment {
    const { version } = checkOptions(options, ['version'])
    if (version === undefined) return this.#symbol(Number(this.#library.symbol(name)), name)
    const found = this.find(name, { version })
    if (found !== undefined) return found
    throw new LoadError(`${this.#title} does not export ${name} in the version ${JSON.stringify(version)}`, {
      hint: 'The command objdump -T lists the versions of the symbols of a library.',
    })
  }

  #symbol(address: number, name: string): MemorySegment {
    return new SymbolSegment(this.#owner.gate, address, name, this.#library)
  }

  toString(): string {
    return `SymbolLookup of ${this.#title}`
  }

  static {
    inspectAsText(SymbolLookup)
  }
}
