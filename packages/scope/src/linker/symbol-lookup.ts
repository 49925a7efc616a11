import { NativeLibrary } from '@tenon/core'
import { type AnyScope, checkScope } from '../scope/check-scope.ts'
import { globalScope } from '../scope/gc-scopes.ts'
import type { MemorySegment } from '../segment/memory-segment.ts'
import { symbolSegment } from './symbol-segment.ts'

/** Finds functions and variables of native libraries. Symbols can be used as long as their scope is open. */
export class SymbolLookup {
  readonly #scope: AnyScope
  readonly #library: NativeLibrary

  private constructor(scope: AnyScope, library: NativeLibrary) {
    this.#scope = scope
    this.#library = library
  }

  /**
   * A library that is refused when the scope has closed. The system keeps its code mapped.
   *
   * @param path a path, or a name that the system's loader searches for.
   * @throws {LoadError} saying what is wrong with it. @throws {ScopeClosedError} once closing has begun.
   */
  static ofLibrary(path: string, scope: AnyScope): SymbolLookup {
    const owner = checkScope(scope)
    const library = NativeLibrary.open(path)
    owner.addCloseAction(() => library.close())
    return new SymbolLookup(owner, library)
  }

  /** What is loaded into this process for everybody: the C library and what it needs. Its symbols never die. */
  static ofProcess(): SymbolLookup {
    return new SymbolLookup(globalScope, NativeLibrary.ofProcess())
  }

  /** A symbol, or undefined if there is none of this name. @throws {ScopeClosedError} after the scope has closed. */
  find(name: string): MemorySegment | undefined {
    return this.#library.has(name) ? this.get(name) : undefined
  }

  /** A symbol. @throws {LoadError} if there is none of this name. @throws {ScopeClosedError} */
  get(name: string): MemorySegment {
    return symbolSegment(this.#scope.gate, Number(this.#library.symbol(name)), name)
  }
}
