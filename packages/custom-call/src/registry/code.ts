import { ArgumentError, NativeLibrary } from '@tenon/core'
import { checkName, describe, globalGate, type Gate } from '@tenon/core/internal'

/** A function of native code: a symbol of a library, or an address, for which the caller vouches. */
export type Code = bigint | { readonly library: NativeLibrary; readonly symbol: string }

/** Where a function is, and what must stay open for it. */
export interface FoundCode {
  readonly address: number
  readonly gate: Gate
}

const LARGEST_ADDRESS = BigInt(Number.MAX_SAFE_INTEGER)

/** @throws {ArgumentError} if it is neither. @throws {LoadError} if there is no such symbol. */
export function findCode(code: unknown, place: string): FoundCode {
  if (typeof code === 'bigint' && code > 0n && code <= LARGEST_ADDRESS)
    return { address: Number(code), gate: globalGate }
  const { library, symbol } = (typeof code === 'object' && code !== null ? code : {}) as Record<string, unknown>
  if (library instanceof NativeLibrary) {
    return { address: Number(library.symbol(checkName(symbol, `the symbol of ${place}`))), gate: library.gate }
  }
  throw new ArgumentError(`${place} must be { library, symbol } or an address, got ${describe(code)}`, {
    hint: "write { library, symbol: 'do_custom_call' }.",
  })
}
