import type { NativeLibrary } from '@tenon/core'
import { ArgumentError } from '@tenon/core'
import { addressOf, checkName, checkStatus, coreFunctions, describe, lastError, statusName } from '@tenon/core/internal'
import { NEWEST_MINOR } from '../errors/version-skew-error.ts'
import { xlaError } from '../errors/xla-error-classes.ts'
import { findCode } from '../registry/code.ts'
import { coreError } from '../native/read-failure.ts'

/** A version of XLA FFI whose function table a library can be given. */
export type ApiMinor = '0.1' | '0.2' | '0.3'

/** A type that handlers know by its id: of a state that they keep, or of data that they are lent. */
export interface HandlerType {
  readonly name: string
  readonly id: bigint
}

/** Where a library has a type of its own: symbols of variables, or addresses, for which the caller vouches. */
export interface TypeSymbols {
  /** The variable of type `XLA_FFI_TypeId`, which is given the id. */
  readonly id: string | bigint
  /** The variable of type `XLA_FFI_TypeInfo`: how states of the type are deleted, from 0.2 on. */
  readonly info?: string | bigint
  /** What the library was built for; 0.3 without it. */
  readonly api?: ApiMinor
}

/**
 * Registers a type of a library, whose handlers expect that before they are looked up. Again the same is no error.
 *
 * @throws {XlaError} if the name is another type's. @throws {LoadError} if there is no such symbol.
 * @example
 * const type = registerType(library, 'tenon_factor', { id: 'factor_type_id', info: 'factor_type_info' })
 * type.id > 0n // true
 */
export function registerType(library: NativeLibrary, name: string, symbols: TypeSymbols): HandlerType {
  const bytes = Buffer.from(checkName(name, 'name'))
  const minor = minorOf(symbols?.api ?? '0.3')
  const id = addressIn(library, symbols.id, `the id of ${name}`)
  const info = symbols.info === undefined ? 0 : addressIn(library, symbols.info, `the info of ${name}`)
  const out = new BigInt64Array(1)
  const { tn_xla_type_register: register } = coreFunctions()
  check(name, (code) => register(minor, addressOf(bytes), bytes.length, id, info, addressOf(out), code))
  return Object.freeze({ name, id: out[0]! })
}

/**
 * Has a library register its types and handlers itself: calls its function `XLA_FFI_Error* f(const XLA_FFI_Api*)`, or one that
 * returns nothing. What it registers is found by {@link registeredHandler}.
 *
 * @param options.api what the library was built for; 0.3 without it. Nothing else tells.
 * @throws {XlaError} if it returns an error, or throws. @throws {LoadError} if there is no such symbol.
 * @example
 * callProvider(library, 'provide_factor_type')
 */
export function callProvider(library: NativeLibrary, symbol: string, options: { readonly api?: ApiMinor } = {}): void {
  const minor = minorOf(options.api ?? '0.3')
  const address = Number(library.symbol(symbol))
  library.gate.enter()
  try {
    check(symbol, (code) => coreFunctions().tn_xla_provide(address, minor, code))
  } finally {
    library.gate.exit()
  }
}

/**
 * Runs `open` while libraries that ask for the function table when they are loaded get that of one version: for those that
 * register themselves and were built for an older one than 0.3, which is what they get otherwise.
 *
 * @example
 * const old = offerApi('0.1', () => NativeLibrary.open('./libregisters.so'))
 */
export function offerApi<Opened>(api: ApiMinor, open: () => Opened): Opened {
  const { tn_xla_offer: offer } = coreFunctions()
  checkStatus(offer(minorOf(api)), 'offering a function table')
  try {
    return open()
  } finally {
    offer(0)
  }
}

/** Where a variable is. */
function addressIn(library: NativeLibrary, variable: unknown, place: string): number {
  return findCode(typeof variable === 'bigint' ? variable : { library, symbol: variable }, place).address
}

function minorOf(api: unknown): number {
  const minor = typeof api === 'string' && /^0\.\d$/.test(api) ? Number(api.slice(2)) : 0
  if (minor >= 1 && minor <= NEWEST_MINOR) return minor
  throw new ArgumentError(`api must be '0.1', '0.2' or '0.3', got ${describe(api)}`)
}

function check(target: string, run: (codeAddress: number) => number): void {
  const code = new Int32Array(2)
  const status = run(addressOf(code))
  if (status === 0) return
  if (statusName(status) !== 'KERNEL_FAILED') throw coreError(status, target)
  throw xlaError({ xlaCode: code[0]!, text: lastError(), target, stage: 'execute' })
}
