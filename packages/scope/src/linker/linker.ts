import { printAs } from '../print-as.ts'
import type { MemorySegment } from '../segment/memory-segment.ts'
import { downcall, type Downcall, type DowncallOptions } from './downcall.ts'
import type { FunctionSignature } from './signature.ts'
import { upcallStub } from './upcall-stub.ts'
import { variadic, type VariadicCall } from './variadic.ts'

/** The functions of {@link Linker}. */
export interface Linkers {
  /**
   * Makes a native function callable. A call checks its arguments, and holds the scopes of all its segments, stubs and
   * libraries open while it runs.
   *
   * @param symbol a symbol from a `SymbolLookup`, or any segment at the function's address.
   * @throws {ArgumentError} if the symbol is null or the signature is not valid. @throws {ScopeClosedError}
   * @example
   * const libc = SymbolLookup.ofProcess()
   * const strlen = Linker.downcall(libc.get('strlen'), { result: 'uint64', parameters: ['pointer'] })
   * strlen(toCString('cos', scope)) // 3n
   */
  downcall<const Signature extends FunctionSignature, const Options extends DowncallOptions = {}>(
    symbol: MemorySegment,
    signature: Signature,
    options?: Options,
  ): Downcall<Signature, Options>
  /**
   * Makes a variadic C function callable with any arguments behind the declared ones. The function is linked once for each list of their
   * types, and 64 lists are kept.
   *
   * | argument               | type in C                               |
   * | ---------------------- | --------------------------------------- |
   * | a whole number         | `int`                                   |
   * | another number         | `double`                                |
   * | a bigint               | `int64_t`                               |
   * | a boolean              | `int`                                   |
   * | a string               | `const char *`, copied for the call     |
   * | memory or `null`       | a pointer                               |
   * | `[type, value]`        | the type, such as `['uint64', 5]`       |
   *
   * @param signature the parameters before the `...`.
   * @throws {ArgumentError} as {@link Linkers.downcall}, and for `fixedParameters`. @throws {ScopeClosedError}
   * @example
   * const libc = SymbolLookup.ofProcess()
   * const buffer = scope.allocate(64)
   * const snprintf = Linker.variadic(libc.get('snprintf'), { result: 'int32', parameters: ['pointer', 'uint64', 'text'] })
   * snprintf(buffer, 64, '%s: %d, %.1f', 'numbers', 1, 2.5) // 15
   */
  variadic<const Signature extends FunctionSignature, const Options extends DowncallOptions = {}>(
    symbol: MemorySegment,
    signature: Signature,
    options?: Options,
  ): VariadicCall<Signature, Options>
  /** See {@link upcallStub}. */
  upcallStub: typeof upcallStub
}

/** Links native functions and TypeScript functions. */
export const Linker: Linkers = printAs('Linker', {
  downcall: downcall as Linkers['downcall'],
  variadic: variadic as Linkers['variadic'],
  upcallStub,
})
