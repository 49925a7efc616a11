import { NativeLibrary } from '@tenon/core'
import { checkName, globalGate, wrongType, type Gate } from '@tenon/core/internal'

/** A native function: a symbol in a library, or an address, for which you are responsible. */
export type Code = bigint | { readonly library: NativeLibrary; readonly symbol: string }

export interface FoundCode {
  readonly address: number
  readonly gate: Gate
}

const LARGEST_ADDRESS = BigInt(Number.MAX_SAFE_INTEGER)

/** Whether a value is an address that fits a number; 0 is not one. */
export function isAddress(value: unknown): value is bigint {
  return typeof value === 'bigint' && value > 0n && value <= LARGEST_ADDRESS
}

/** Looks up a native function. @throws {ArgumentError} if `code` is malformed. @throws {LoadError} if the symbol is missing. */
export function findCode(code: unknown, place: string): FoundCode {
  if (isAddress(code)) return { address: Number(code), gate: globalGate }
  const { library, symbol } = (typeof code === 'object' && code !== null ? code : {}) as Record<string, unknown>
  if (library instanceof NativeLibrary) {
    return { address: library.functionAddress(checkName(symbol, `the symbol of ${place}`)), gate: library.gate }
  }
  throw wrongType(place, '{ library, symbol } or an address', code, "Write { library, symbol: 'do_custom_call' }.")
}

/** @throws {ArgumentError} if a value is not a library. */
export function checkLibrary(library: unknown): asserts library is NativeLibrary {
  if (library instanceof NativeLibrary) return
  const hint = "Open it: customCall(NativeLibrary.open('./libkernels.so'), 'rms_norm')."
  throw wrongType('library', 'a NativeLibrary', library, hint)
}
