import type { Contestant, Offered, Setup } from '../contestant.ts'
import { accessTo } from './access.ts'

type Native = (...values: unknown[]) => unknown

/** The parts of `bun:ffi` that are used here. */
interface BunFfi {
  dlopen(path: string, symbols: object): { symbols: Record<string, Native>; close(): void }
  toArrayBuffer(pointer: number, offset: number, size: number): ArrayBuffer
  JSCallback: new (run: unknown, type: object) => { readonly ptr: unknown; close(): void }
}

/** `bun:ffi`. */
export const bunFfi: Contestant = {
  name: 'bun-ffi',
  description: '`bun:ffi` of Bun',
  runtimes: ['bun'],
  firstCall: ({ library }) => `
import { dlopen } from 'bun:ffi'
const { symbols } = dlopen(${JSON.stringify(library)}, { prove_add_one: { args: ['i32'], returns: 'i32' } })
if (symbols.prove_add_one(1) !== 2) throw new Error('wrong')`,
  open: openBunFfi,
}

function openBunFfi({ library: path }: Setup): Offered {
  const { dlopen, toArrayBuffer, JSCallback } = process.getBuiltinModule('bun:ffi') as unknown as BunFfi
  const int32 = { args: ['i32'], returns: 'i32' }
  const { symbols, close } = dlopen(path, {
    prove_nothing: { args: [], returns: 'void' },
    prove_add_one: int32,
    prove_sum: { args: ['ptr', 'i64_fast'], returns: 'i32' },
    prove_fill: { args: ['ptr', 'i64_fast', 'i32'], returns: 'void' },
    prove_keep: { args: ['ptr'], returns: 'i32' },
    prove_kept: { args: [], returns: 'i32' },
    prove_length: { args: ['cstring'], returns: 'i32' },
    prove_text: { args: [], returns: 'cstring' },
    prove_repeat: { args: ['ptr', 'i32'], returns: 'i32' },
    prove_repeat_on_thread: { args: ['ptr', 'i32'], returns: 'i32' },
    prove_allocate: { args: ['i64_fast'], returns: 'ptr' },
    prove_free: { args: ['ptr'], returns: 'void' },
    prove_write_null: int32,
    prove_spin: int32,
  })
  const text = symbols['prove_text']!
  return {
    nothing: symbols['prove_nothing']!,
    addOne: symbols['prove_add_one']!,
    sum: symbols['prove_sum']!,
    fill: symbols['prove_fill']!,
    keep: symbols['prove_keep']!,
    kept: symbols['prove_kept']!,
    length: symbols['prove_length']!,
    text: () => String(text()),
    callback: (run, isForeign) => {
      const callback = new JSCallback(run, isForeign ? { ...int32, threadsafe: true } : int32)
      return { argument: callback.ptr, release: () => callback.close() }
    },
    repeat: symbols['prove_repeat']!,
    repeatOnThread: symbols['prove_repeat_on_thread']!,
    allocate: (size) => {
      const pointer = symbols['prove_allocate']!(size) as number
      const bytes = new Uint8Array(toArrayBuffer(pointer, 0, size))
      return { argument: bytes, ...accessTo(bytes), free: () => symbols['prove_free']!(pointer) }
    },
    writeNull: symbols['prove_write_null']!,
    spin: symbols['prove_spin']!,
    close,
  }
}
