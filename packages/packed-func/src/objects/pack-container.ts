import { addressOf, keepAlive } from '@tenon/core/internal'
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

/** More elements than this don't go through the argument stack at once. */
const MANY = 1024

/** The bytes of a value in native code. */
const VALUE_SIZE = 16

/** Packs the object that a function of tvm-ffi makes of values; it is given back after the call. */
function packMade(stack: Stack, slot: number, maker: string, values: readonly unknown[]): void {
  const handle = builtin(maker).checkAlive()
  // A getter of an element may change the array.
  const count = values.length
  if (count > MANY) {
    packMany(stack, slot, handle, values)
    return
  }
  const { top: base, text } = stack
  const undo = stack.undo.length
  stack.enter(count)
  let address: number
  let typeIndex: number
  try {
    for (let i = 0; i < count; i++) pack(stack, base + 1 + i, values[i])
    typeIndex = stack.call(base, handle, count)
    if (typeIndex === -1) throw takeError(stack, base)
    address = stack.pointer(base)
  } finally {
    stack.settle(undo)
    stack.leave(base, text)
  }
  stack.setPointer(slot, typeIndex, address)
  stack.undo.push(slot)
}

/** As {@link packMade}: the arguments are owned values outside the stack, which they would fill. */
function packMany(stack: Stack, slot: number, handle: number, values: readonly unknown[]): void {
  const { top: base, text, host } = stack
  const undo = stack.undo.length
  const total = values.length
  const owned = Buffer.alloc(total * VALUE_SIZE)
  const start = addressOf(owned)
  let made = 0
  let typeIndex: number
  stack.enter(MANY)
  const at = stack.slotAddress(base)
  try {
    while (made < total) {
      const count = Math.min(MANY, total - made)
      for (let i = 0; i < count; i++) pack(stack, base + 1 + i, values[made + i])
      if (host.own(at, count, start + made * VALUE_SIZE) !== 0) throw takeError(stack, base)
      made += count
      stack.settle(undo)
      stack.text = text
    }
    made = 0
    typeIndex = host.callOwned(at, handle, start, total)
    if (typeIndex === -1) throw takeError(stack, base)
  } finally {
    stack.settle(undo)
    host.clearOwned(start, made)
    keepAlive(owned)
    stack.leave(base, text)
  }
  stack.setPointer(slot, typeIndex, stack.pointer(base))
  stack.undo.push(slot)
}
