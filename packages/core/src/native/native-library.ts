import { checkName } from '../errors/check.ts'
import { LoadError } from '../errors/kinds.ts'
import { ManagedLifetime } from '../memory/managed-lifetime.ts'
import { addressOf, type CFunction } from './driver.ts'
import { checkStatus, coreFunction, lastError } from './core-library.ts'
import { explainLoadFailure, isSpecialFile } from './explain-load-failure.ts'
import type { Value } from './argument-conversion.ts'
import { bindFunction, type NativeFunction, type Signature } from './native-function.ts'

/** The library functions of the core, declared at first use. */
interface Loader {
  readonly open: CFunction
  readonly symbol: CFunction
}

let loader: Loader | undefined

function coreLoader(): Loader {
  loader ??= {
    open: coreFunction('tn_library_open', 'int32_t', ['uintptr_t', 'uintptr_t', 'uintptr_t']),
    symbol: coreFunction('tn_library_symbol', 'int32_t', ['uintptr_t', 'uintptr_t', 'uintptr_t', 'uintptr_t']),
  }
  return loader
}

/**
 * A shared library of native code. The system never unmaps it, so that what it handed out stays valid; after closing,
 * its symbols and functions are refused.
 *
 * @example
 * const libm = NativeLibrary.open('libm.so.6')
 * const cos = libm.function('cos', { result: 'float64', parameters: ['float64'] })
 * cos(0) // 1
 * libm.close()
 */
export class NativeLibrary extends ManagedLifetime {
  /** The path as it was given. */
  readonly path: string
  readonly #handle: number

  private constructor(path: string, handle: number) {
    super()
    this.path = path
    this.#handle = handle
  }

  /**
   * Opens a library: a path, or a name that the system's loader searches for. All its undefined symbols are bound now.
   *
   * @throws {LoadError} saying what is wrong with the file: missing, no library, for another processor, or which
   * dependency or symbol it lacks.
   */
  static open(path: string): NativeLibrary {
    const name = Buffer.from(checkName(path, 'path'))
    if (isSpecialFile(path)) throw explainLoadFailure(path, 'not a regular file')
    const out = new BigUint64Array(1)
    const { open } = coreLoader()
    if (open(addressOf(name), name.length, addressOf(out)) !== 0) throw explainLoadFailure(path, lastError())
    return new NativeLibrary(path, Number(out[0]))
  }

  /** What is loaded into this process for everybody: the C library, and what the program was linked with. */
  static ofProcess(): NativeLibrary {
    const out = new BigUint64Array(1)
    checkStatus(
      Number(coreFunction('tn_library_process', 'int32_t', ['uintptr_t'])(addressOf(out))),
      'opening the process',
    )
    return new NativeLibrary('of this process', Number(out[0]))
  }

  protected override get label(): string {
    return `the library ${this.path}`
  }

  /** Nothing to free: the code stays mapped. */
  protected override release(): void {}

  /** Whether the library has a symbol. @throws {ScopeClosedError} after close. */
  has(name: string): boolean {
    return this.#find(name) !== undefined
  }

  /**
   * The address of a symbol.
   *
   * @throws {LoadError} if the library has none of this name. @throws {ScopeClosedError} after close.
   */
  symbol(name: string): bigint {
    return BigInt(this.#address(name))
  }

  /**
   * A function of the library, which keeps the library open while it runs and refuses to run after it is closed.
   *
   * @throws {LoadError} if there is no such symbol. @throws {ArgumentError} if the signature is not valid.
   * @example
   * const strlen = libc.function('strlen', { result: 'uint64', parameters: ['pointer'] })
   * strlen(segment) // 0n
   */
  function(name: string, signature: Signature): NativeFunction<Value> {
    return bindFunction(this.gate, name, this.#address(name), signature)
  }

  #address(name: string): number {
    const address = this.#find(name)
    if (address !== undefined) return address
    throw new LoadError(`the library ${this.path} must have the symbol ${name}, it has none of this name`, {
      hint: 'it may be built with hidden visibility, or C++ may have changed the name (extern "C" keeps it).',
      details: { path: this.path, symbol: name },
    })
  }

  #find(name: string): number | undefined {
    this.checkAlive()
    const bytes = Buffer.from(checkName(name, 'name'))
    const out = new BigUint64Array(1)
    const found = coreLoader().symbol(this.#handle, addressOf(bytes), bytes.length, addressOf(out)) === 0
    return found ? Number(out[0]) : undefined
  }
}
