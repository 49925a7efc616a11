import { dirname, join } from 'node:path'
import { loadAddon } from '@tenon/bench'
import { NativeLibrary } from '@tenon/core'
import { coreLibrary } from '@tenon/core/internal'

/** The signatures that the hand-written addon of `tools/bench/csrc/core_addon.c` can call, in its order. */
const KINDS = ['none', 'int32', 'doubles', 'fourInt64', 'eightInt64', 'buffer', 'fourBuffers'] as const

const addon = loadAddon<{ bind(kind: number, address: number): unknown }>('core_addon')

/** The library of the core's tests. */
export const FIXTURE: string = join(
  dirname(coreLibrary().path),
  `libcore_fixture.${process.platform === 'darwin' ? 'dylib' : 'so'}`,
)
export const fixture: NativeLibrary = NativeLibrary.open(FIXTURE)

/** A JavaScript function of the addon that calls a native function. */
export function addonFunction<Call>(kind: (typeof KINDS)[number], symbol: string, library = fixture): Call {
  return addon.bind(KINDS.indexOf(kind), Number(library.symbol(symbol))) as Call
}
