import { findLibrary } from '@tenon/binary'
import { checkName, wrongType } from '../errors/check-arguments.ts'
import { checkOptions } from '../errors/check-options.ts'
import { ArgumentError } from '../errors/kinds.ts'
import { ManagedLifetime } from '../memory/managed-lifetime.ts'
import type { Segment } from '../memory/segment.ts'
import { functionAt, type PlainFunction } from './call/function-at.ts'
import { STATUS } from '../generated/status.ts'
import { checkStatus, coreFunctions, coreLibrary, lastError } from './core-library.ts'
import { explainLoadFailure } from './explain-load-failure.ts'
import { missingSymbol } from './missing-symbol.ts'
import type { ArgumentsOf, FunctionSignature, NativeFunction, ResultOf } from './function-types.ts'
import { bindFunction } from './native-function.ts'
import { addressOf, keepAlive } from './native-memory.ts'
import type { StructType } from './struct-type.ts'
import { unloadable } from './unloadable-file.ts'

/** Stands for the address of a variable. */
const DATA = -1

/** The memory for a struct that a function returns, which is the first argument. */
export type Targets<Signature> = Signature extends { readonly result: StructType } ? [target: Segment] : []

let openFunction: PlainFunction | undefined

/**
 * The path of a library that the loader would find by a name, if Node.js exports functions of it. Opened by its name, it would run those.
 */
function shadowedPath(name: string): string | undefined {
  if (process.platform !== 'linux' || name.includes('/')) return undefined
  const path = findLibrary(name)
  if (path === undefined) return undefined
  const text = Buffer.from(`${path}\0`)
  const isShadowed = coreFunctions().tn_library_is_shadowed(addressOf(text)) !== 0
  keepAlive(text)
  return isShadowed ? path : undefined
}

/**
 * Opens a library. Its constructors are code of others, so they run like functions of users, but on the stack that the loader and libraries know:
 * a constructor may need an executable stack, or register the stack of its thread.
 */
function openLibrary(name: Buffer, out: BigUint64Array): number {
  openFunction ??= functionAt(coreLibrary().find('tn_library_open'), 'int32', ['uint64', 'uint64', 'uint64'], true)
  const status = openFunction(addressOf(name), name.length, addressOf(out))
  keepAlive(name)
  return status
}

/**
 * A shared library. The library is never unmapped, so pointers into it stay valid. After the library is closed, looking up
 * symbols and calling its functions throw.
 *
 * @example
 * const libm = NativeLibrary.open('libm.so.6')
 * const cos = libm.function('cos', { result: 'float64', parameters: ['float64'] })
 * cos(0) // 1
 * libm.close()
 */
export class NativeLibrary extends ManagedLifetime {
  /** The path that was passed to {@link NativeLibrary.open}. */
  readonly path: string
  readonly #handle: number

  private constructor(path: string, handle: number) {
    super()
    if (typeof handle !== 'number') {
      throw wrongType('handle', 'that of a loaded library', handle, 'Open the library with NativeLibrary.open(path).')
    }
    this.path = path
    this.#handle = handle
  }

  /**
   * Opens a library and binds all its undefined symbols.
   *
   * @param path a path, or a name that the system's loader searches for.
   * @throws {LoadError} that names the problem of the file: it is missing, is not a library, is for another processor, or
   * lacks a dependency or symbol.
   */
  static open(path: string): NativeLibrary {
    checkName(path, 'path')
    const problem = unloadable(path)
    if (problem !== undefined) throw explainLoadFailure(path, problem)
    const name = Buffer.from(shadowedPath(path) ?? path)
    const out = new BigUint64Array(1)
    if (openLibrary(name, out) !== 0) throw explainLoadFailure(path, lastError())
    return new NativeLibrary(path, Number(out[0]))
  }

  /** The libraries that are loaded globally: the C library, and those that the program was linked with. */
  static ofProcess(): NativeLibrary {
    const out = new BigUint64Array(1)
    checkStatus(coreFunctions().tn_library_process(addressOf(out)), 'opening the process')
    return new NativeLibrary('of this process', Number(out[0]))
  }

  protected override get label(): string {
    return `the library ${this.path}`
  }

  /** @internal The handle of the loader, for functions of the core. */
  get handle(): number {
    return this.#handle
  }

  /** The class and the path, as text. */
  override toString(): string {
    return `NativeLibrary ${this.path}`
  }

  /** Frees nothing, because the code stays mapped. */
  protected override release(): void {}

  /** Whether the library exports a symbol. @throws {ScopeClosedError} after close. */
  has(name: string): boolean {
    return this.#find('tn_library_symbol', name) !== undefined
  }

  /**
   * The address of a symbol.
   *
   * @throws {LoadError} if the library does not export it; the hint names similar ones. @throws {ScopeClosedError} after close.
   */
  symbol(name: string): bigint {
    return BigInt(this.#find('tn_library_symbol', name) ?? this.#refuse(name))
  }

  /**
   * Returns a function of the library. The library stays open while the function runs, and calls throw after it is closed. The
   * types of the arguments and of the result come from the signature. `Library.function` of tenon and `Linker.downcall` of
   * `@tenon/scope` take the same signatures, also with structs.
   *
   * @param options `critical: true` for a small function: it needs at most 16 KiB of stack, calls no function of TypeScript, throws no
   * exception, and leaves the floating-point modes alone. Its calls take less time, see `DowncallOptions` of `@tenon/scope`.
   * @throws {LoadError} if the library does not export it.
   * @throws {ArgumentError} if the symbol is a variable, or the signature is not valid.
   * @example
   * const strlen = libc.function('strlen', { result: 'uint64', parameters: ['pointer'] })
   * strlen(segment) // 0n
   */
  function<const Signature extends FunctionSignature<StructType>>(
    name: string,
    signature: Signature,
    options?: { readonly critical?: boolean },
  ): NativeFunction<[...Targets<Signature>, ...ArgumentsOf<Signature>], ResultOf<Signature>> {
    const { critical = false } = checkOptions(options, ['critical'])
    if (typeof critical !== 'boolean') throw wrongType('critical', 'true or false', critical)
    const bound: unknown = bindFunction(this.gate, name, this.functionAddress(name), signature, { critical })
    return bound as NativeFunction<[...Targets<Signature>, ...ArgumentsOf<Signature>], ResultOf<Signature>>
  }

  /** @internal The address of a function. @throws {LoadError} as {@link symbol}. @throws {ArgumentError} if the symbol is a variable */
  functionAddress(name: string): number {
    const address = this.#find('tn_library_function', name)
    if (address === DATA) {
      throw new ArgumentError(`${name} must be a function, got data`, { details: { path: this.path, symbol: name } })
    }
    return address ?? this.#refuse(name)
  }

  /** @internal Whether an exported symbol is a function. Thread-local variables have addresses, too, which only their own library states. */
  isFunction(name: string): boolean {
    return this.#find('tn_library_function', name) !== DATA
  }

  /**
   * @internal The address of a version of a symbol. Undefined if the library does not export it.
   * @throws {UnsupportedError} if symbols have no versions on this system.
   */
  versionedSymbol(name: string, version: string): number | undefined {
    this.checkAlive()
    const [symbol, label] = [Buffer.from(checkName(name, 'name')), Buffer.from(checkName(version, 'version'))]
    const out = new BigUint64Array(1)
    const status = coreFunctions().tn_library_versioned_symbol(
      this.#handle,
      addressOf(symbol),
      symbol.length,
      addressOf(label),
      label.length,
      addressOf(out),
    )
    keepAlive(symbol)
    keepAlive(label)
    if (status === STATUS.NOT_FOUND.value) return undefined
    checkStatus(status, `looking up ${name}@${version}`)
    return Number(out[0])
  }

  #refuse(name: string): never {
    throw missingSymbol(this.path, name)
  }

  /** Returns undefined for a symbol that the library does not export, and {@link DATA} for a variable if a function is looked up. */
  #find(lookUp: 'tn_library_symbol' | 'tn_library_function', name: string): number | undefined {
    this.checkAlive()
    const bytes = Buffer.from(checkName(name, 'name'))
    const out = new BigUint64Array(1)
    const status = coreFunctions()[lookUp](this.#handle, addressOf(bytes), bytes.length, addressOf(out))
    keepAlive(bytes)
    if (status === STATUS.INVALID_ARGUMENT.value) return DATA
    return status === 0 ? Number(out[0]) : undefined
  }
}
