import { kernelLibrary } from '@tenon/kernels'
import koffi from 'koffi'
import { Module } from '@tenon/packed-func'
import { cellOf } from '@tenon/packed-func/internal'

/** A packed function called by hand, without checks: one arena, and one koffi function with four pointers. */
export interface RawStack {
  readonly i32: Int32Array
  readonly f64: Float64Array
  readonly bytes: Buffer
  /** The address of byte 2048, for text and descriptors. */
  readonly spare: Words
  readonly spareOffset: number
  /** Calls with the arguments at slot 1 and the result at slot 0. */
  readonly call: (count: number) => number
  readonly handle: number
}

/** The argument stack for a function of the example kernels. */
export function rawStack(name: string): RawStack {
  const fn = Module.open(kernelLibrary('packed')).get(name)
  const library = koffi.load(null)
  const ffiCall = library.func('TVMFFIFunctionCall', 'int32_t', ['uintptr_t', 'uintptr_t', 'int32_t', 'uintptr_t'])
  const buffer = new ArrayBuffer(4096)
  const address = Number(koffi.address(buffer))
  const { handle } = cellOf(fn)
  kept.push(fn)
  return {
    i32: new Int32Array(buffer),
    f64: new Float64Array(buffer),
    bytes: Buffer.from(buffer),
    spare: wordsOf(address + 2048),
    spareOffset: 2048,
    call: (count) => ffiCall(handle, address + 16, count, address) as number,
    handle,
  }
}

const kept: unknown[] = []

/** The halves of an address. */
interface Words {
  readonly lo: number
  readonly hi: number
}

export function wordsOf(address: number): Words {
  return { lo: address | 0, hi: (address / 2 ** 32) | 0 }
}

/** Writes an int32 into a slot. */
export function putInt({ i32 }: RawStack, slot: number, value: number): void {
  const at = slot * 4
  i32[at] = 1
  i32[at + 1] = 0
  i32[at + 2] = value
  i32[at + 3] = value >> 31
}

/** Writes an address into a slot, with the type of what it points to. */
export function putAddress({ i32 }: RawStack, slot: number, typeIndex: number, { lo, hi }: Words): void {
  const at = slot * 4
  i32[at] = typeIndex
  i32[at + 1] = 0
  i32[at + 2] = lo
  i32[at + 3] = hi
}
