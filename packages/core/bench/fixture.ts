import { dirname, join } from 'node:path'
import { type AddonKind, addonFunction } from '@tenon/bench'
import { NativeLibrary } from '@tenon/core'
import { coreLibrary } from '@tenon/core/internal'

/** The library of the core's tests. */
export const FIXTURE: string = join(
  dirname(coreLibrary().path),
  `libcore_fixture.${process.platform === 'darwin' ? 'dylib' : 'so'}`,
)
export const fixture: NativeLibrary = NativeLibrary.open(FIXTURE)

/** A JavaScript function of the hand-written addon that calls a function of a library. */
export function addonCall<Call>(kind: AddonKind, symbol: string, library = fixture): Call {
  return addonFunction(kind, library.symbol(symbol))
}
