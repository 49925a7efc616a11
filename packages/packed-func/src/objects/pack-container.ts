import { builtin } from '../functions/builtin.ts'
import { takeError } from '../errors/crossing.ts'
import type { Stack } from '../native/stack.ts'
import { pack } from '../values/pack.ts'

/** Packs an array as an `ffi.Array` of its own. */
export function packArray(stack: Stack, slot: number, values: readonly unknown[]): void {
  packMade(stack, slot, 'ffi.Array', values)
}

/** Packs a Map as an `ffi.Map` of its own, in the order of its entries. */
export function packMap(stack: Stack, slot: number, values: ReadonlyMap<unknown, unknown>): void {
  packMade(
    stack,
    slot,
    'ffi.Map',
    [...values].flatMap(([key, value]) => [key, value]),
  )
}

/** Packs the object that a function of tvm-ffi makes of values; it is given back after the call. */
function packMade(stack: Stack, slot: number, maker: string, values: readonly unknown[]): void {
  const handle = builtin(maker).checkAlive()
  const { top: base, text } = stack
  const undo = stack.undo.length
  stack.enter(values.length)
  let address: number
  let typeIndex: number
  try {
    for (let i = 0; i < values.length; i++) pack(stack, base + 1 + i, values[i])
    typeIndex = stack.call(base, handle, values.length)
    if (typeIndex === -1) throw takeError(stack, base)
    address = stack.pointer(base)
  } finally {
    stack.settle(undo)
    stack.leave(base, text)
  }
  stack.setPointer(slot, typeIndex, address)
  stack.undo.push(slot)
}
