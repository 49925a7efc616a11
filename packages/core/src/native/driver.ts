import { createRequire } from 'node:module'
import type koffiModule from 'koffi'

/**
 * The seam to the FFI driver: the only file that knows koffi. Another driver can stand here one day.
 *
 * koffi is loaded at first use, so that importing a package has no side effects.
 */
type Koffi = typeof koffiModule

let loaded: Koffi | undefined

function koffi(): Koffi {
  if (loaded === undefined) {
    loaded = createRequire(import.meta.url)('koffi') as Koffi
    // In a thread that has loaded nothing, calling a function made from an address crashes koffi 3.3.
    loaded.load(null)
  }
  return loaded
}

/** Types of a C signature, as koffi names them. Pointers travel as `uintptr_t` numbers. */
export type CType =
  | 'void'
  | 'bool'
  | 'int8_t'
  | 'uint8_t'
  | 'int16_t'
  | 'uint16_t'
  | 'int32_t'
  | 'uint32_t'
  | 'int64_t'
  | 'uint64_t'
  | 'uintptr_t'
  | 'float'
  | 'double'

/** A function of C: numbers in, a number (bigint above 2^53) out. */
export type CFunction = (...values: (number | bigint | boolean)[]) => never

/** Where the bytes of a buffer start. The caller keeps the buffer alive and attached while the address is used. */
export function addressOf(buffer: ArrayBufferLike | ArrayBufferView): number {
  return Number(koffi().address(buffer))
}

/** A library opened by the driver itself, its symbols visible to all that is loaded later. @throws the loader's words */
export function loadGlobally(path: string): { declare(name: string, result: CType, parameters: readonly CType[]): CFunction } {
  const library = koffi().load(path, { global: true })
  return { declare: (name, result, parameters) => library.func(name, result, [...parameters]) as unknown as CFunction }
}

/** The function at an address. Declared once, never per call: declaring costs as much as a hundred calls. */
export function functionAt(address: number, result: CType, parameters: readonly CType[]): CFunction {
  const { decode, proto } = koffi()
  return decode(BigInt(address), proto(result, [...parameters])) as CFunction
}

/** Makes native code able to call `callback`; returns its address. One of koffi's 8192 slots: see callbacks/. */
export function registerCallback(
  callback: (...values: never[]) => number,
  result: CType,
  parameters: readonly CType[],
): number {
  const k = koffi()
  return Number(k.register(callback, k.pointer(k.proto(result, [...parameters]))))
}

/** A NUL-terminated UTF-8 string of native memory, copied. The caller vouches for the address. */
export function stringAt(address: number): string {
  return address === 0 ? '' : koffi().decode.string(BigInt(address))
}

/** An ArrayBuffer over native memory that outlives it. One a block, ever: each costs, and detaching one leaves others. */
export function bufferOver(address: number, byteSize: number): ArrayBuffer {
  return koffi().view(BigInt(address), byteSize)
}
