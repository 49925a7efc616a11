import type { NativeLibrary } from '@tenon/core'
import { addressOf, checkName, checkOptions, checkStatus, coreFunctions, wrongType } from '@tenon/core/internal'
import { NEWEST_MINOR } from '../errors/version-skew-error.ts'
import { enterCore } from '../native/enter-core.ts'
import { checkAnswer } from '../native/read-failure.ts'
import { checkLibrary, findCode } from './code.ts'

/** A version of XLA FFI whose function table a library can receive. */
export type ApiMinor = '0.1' | '0.2' | '0.3' | '0.4'

/** The type of a state or of user data, which handlers identify by its id. */
export interface HandlerType {
  readonly name: string
  readonly id: bigint
}

/** The variables of a type in its library, as symbols, or as addresses, for which you are responsible. */
export interface TypeSymbols {
  /** The variable of type `XLA_FFI_TypeId`, which receives the id. */
  readonly id: string | bigint
  /** The variable of type `XLA_FFI_TypeInfo`, which describes how states are deleted. Available from 0.2 on. */
  readonly info?: string | bigint
  /** The version that the library was built for. Default: 0.4. */
  readonly api?: ApiMinor
}

/**
 * Registers a type that a library defines. Register the type before you look up handlers that expect it. Registering the
 * same type again is not an error.
 *
 * @throws {XlaError} if another type has the name. @throws {LoadError} if the library does not export a symbol.
 * @example
 * const type = registerType(library, 'tenon_factor', { id: 'factor_type_id', info: 'factor_type_info' })
 * type.id > 0n // true
 */
export function registerType(library: NativeLibrary, name: string, symbols: TypeSymbols): HandlerType {
  checkLibrary(library)
  const bytes = Buffer.from(checkName(name, 'name'))
  const { id, info, api } = checkOptions(symbols, ['id', 'info', 'api'], 'symbols')
  const minor = minorOf(api)
  // These are variables, which are not looked up as functions.
  const address = (variable: unknown, place: string): number =>
    typeof variable === 'bigint'
      ? findCode(variable, place).address
      : Number(library.symbol(checkName(variable, `the symbol of ${place}`)))
  const idAddress = address(id, `the id of ${name}`)
  const infoAddress = info === undefined ? 0 : address(info, `the info of ${name}`)
  const out = new BigInt64Array(1)
  const { tn_xla_type_register: register } = coreFunctions()
  check(name, (code) => register(minor, addressOf(bytes), bytes.length, idAddress, infoAddress, addressOf(out), code))
  return Object.freeze({ name, id: out[0]! })
}

/**
 * Calls a function `XLA_FFI_Error* f(const XLA_FFI_Api*)`, or one that returns void, in a library. The function registers
 * the library's types and handlers, which {@link registeredHandler} then finds.
 *
 * @param options.api the version that the library was built for, which cannot be detected. Default: 0.4.
 * @throws {XlaError} if the function returns an error, or throws. @throws {LoadError} if the symbol is missing.
 * @example
 * callProvider(library, 'provide_factor_type')
 */
export function callProvider(library: NativeLibrary, symbol: string, options?: { readonly api?: ApiMinor }): void {
  checkLibrary(library)
  const minor = minorOf(checkOptions(options, ['api']).api)
  const address = library.functionAddress(symbol)
  library.gate.enter()
  try {
    check(symbol, (code) => enterCore('tn_xla_provide', address, minor, code))
  } finally {
    library.gate.exit()
  }
}

/**
 * Runs `open`, which loads a library. If the library requests the function table when it is loaded, it receives the table of
 * version `api` instead of 0.4. Use this function for libraries that register themselves and were built for older versions.
 *
 * @example
 * const old = offerApi('0.1', () => NativeLibrary.open('./libkernels_runtime.so'))
 */
export function offerApi<Opened>(api: ApiMinor, open: () => Opened): Opened {
  if (typeof open !== 'function') throw wrongType('open', 'a function', open)
  const { tn_xla_offer: offer } = coreFunctions()
  checkStatus(offer(minorOf(api)), 'offering a function table')
  try {
    return open()
  } finally {
    offer(0)
  }
}

function minorOf(api: unknown = `0.${NEWEST_MINOR}`): number {
  const minor = typeof api === 'string' && /^0\.\d$/.test(api) ? Number(api.slice(2)) : 0
  if (minor >= 1 && minor <= NEWEST_MINOR) return minor
  throw wrongType('api', "'0.1', '0.2', '0.3' or '0.4'", api)
}

function check(target: string, run: (codeAddress: number) => number): void {
  const code = new Int32Array(2)
  checkAnswer(run(addressOf(code)), code[0]!, target)
}
