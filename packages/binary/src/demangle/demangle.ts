import { demangleItanium } from './itanium.ts'
import { demangleRust } from './rust.ts'

/** The name of a function for people, or the symbol itself if it is not the name of a C++ or Rust function. */
export function demangle(symbol: string): string {
  return demangleRust(symbol) ?? demangleItanium(symbol) ?? symbol
}
