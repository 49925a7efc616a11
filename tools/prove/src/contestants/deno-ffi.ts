import type { Contestant, Offered, Setup } from '../contestant.ts'
import { accessTo } from './access.ts'

type Native = (...values: unknown[]) => unknown

interface DenoCallback {
  readonly pointer: unknown
  close(): void
}

/** The parts of `Deno` that are used here. */
interface DenoFfi {
  dlopen(path: string, symbols: object): { symbols: Record<string, Native>; close(): void }
  UnsafeCallback: {
    new (type: object, run: unknown): DenoCallback
    threadSafe(type: object, run: unknown): DenoCallback
  }
  UnsafePointerView: new (pointer: unknown) => { getArrayBuffer(size: number): ArrayBuffer; getCString(): string }
}

/** `Deno.dlopen`. */
export const denoFfi: Contestant = {
  name: 'deno-ffi',
  description: '`Deno.dlopen` of Deno; `nonblocking` for calls on other threads',
  runtimes: ['deno'],
  firstCall: ({ library }) => `
const { symbols } = Deno.dlopen(${JSON.stringify(library)}, { prove_add_one: { parameters: ['i32'], result: 'i32' } })
if (symbols.prove_add_one(1) !== 2) throw new Error('wrong')`,
  open: openDenoFfi,
}

function openDenoFfi({ library: path }: Setup): Offered {
  const { dlopen, UnsafeCallback, UnsafePointerView } = (globalThis as unknown as { Deno: DenoFfi }).Deno
  const point = { struct: ['f64', 'f64'] }
  const int32 = { parameters: ['i32'], result: 'i32' }
  const sum = { parameters: ['buffer', 'i64'], result: 'i32' }
  const repeat = { parameters: ['function', 'i32'], result: 'i32' }
  const { symbols, close } = dlopen(path, {
    prove_nothing: { parameters: [], result: 'void' },
    prove_add_one: int32,
    prove_sum: sum,
    sum_later: { ...sum, name: 'prove_sum', nonblocking: true },
    prove_fill: { parameters: ['buffer', 'i64', 'i32'], result: 'void' },
    prove_keep: { parameters: ['buffer'], result: 'i32' },
    prove_kept: { parameters: [], result: 'i32' },
    prove_length: { parameters: ['buffer'], result: 'i32' },
    prove_text: { parameters: [], result: 'pointer' },
    prove_scale: { parameters: [point, 'f64'], result: point },
    prove_repeat: repeat,
    prove_repeat_on_thread: repeat,
    prove_allocate: { parameters: ['i64'], result: 'pointer' },
    prove_free: { parameters: ['pointer'], result: 'void' },
    prove_write_null: int32,
    prove_spin: int32,
  })
  const encoder = new TextEncoder()
  return {
    nothing: symbols['prove_nothing']!,
    addOne: symbols['prove_add_one']!,
    sum: symbols['prove_sum']!,
    sumLater: symbols['sum_later'] as never,
    fill: symbols['prove_fill']!,
    keep: symbols['prove_keep']!,
    kept: symbols['prove_kept']!,
    // Deno has no type for text: its manual encodes the string with a terminator.
    length: (text) => symbols['prove_length']!(encoder.encode(`${text}\0`)),
    text: () => new UnsafePointerView(symbols['prove_text']!()).getCString(),
    scale: ({ x, y }, factor) => {
      const result = symbols['prove_scale']!(new Uint8Array(Float64Array.of(x, y).buffer), factor) as Uint8Array
      const [scaledX, scaledY] = new Float64Array(result.buffer)
      return { x: scaledX, y: scaledY }
    },
    callback: (run, isForeign) => {
      const callback = isForeign ? UnsafeCallback.threadSafe(int32, run) : new UnsafeCallback(int32, run)
      return { argument: callback.pointer, release: () => callback.close() }
    },
    repeat: symbols['prove_repeat']!,
    repeatOnThread: symbols['prove_repeat_on_thread']!,
    allocate: (size) => {
      const pointer = symbols['prove_allocate']!(size)
      const bytes = new Uint8Array(new UnsafePointerView(pointer).getArrayBuffer(size))
      return { argument: bytes, ...accessTo(bytes), free: () => symbols['prove_free']!(pointer) }
    },
    writeNull: symbols['prove_write_null']!,
    spin: symbols['prove_spin']!,
    close,
  }
}
