import { addressOf, keepAlive, LAYOUTS } from '@tenon/core/internal'
import { takeError } from '../errors/crossing.ts'
import { globalFunction } from '../native/global-function.ts'
import type { Pack, Stack } from '../native/stack.ts'

/** Packs an array as a new `ffi.Array`. */
export function packArray(stack: Stack, slot: number, values: readonly unknown[], pack: Pack): void {
  packContainer(stack, slot, 'ffi.Array', values, pack)
}

/** Packs a Map as a new `ffi.Map`, in the order of its entries. */
export function packMap(stack: Stack, slot: number, values: ReadonlyMap<unknown, unknown>, pack: Pack): void {
  packContainer(stack, slot, 'ffi.Map', [...values].flat(), pack)
}

/** The number of elements that go through the argument stack at once. */
const MANY = 1024

/** The bytes of a value in native code. */
const VALUE_SIZE: number = LAYOUTS.TVMFFIAny.size

const makers = new Map<string, number>()

/** Packs the object that a function of tvm-ffi makes of values. The call releases it at its end. */
function packContainer(stack: Stack, slot: number, maker: string, values: readonly unknown[], pack: Pack): void {
  let handle = makers.get(maker)
  if (handle === undefined) {
    handle = globalFunction(maker)
    makers.set(maker, handle)
  }
  const make = values.length > MANY ? makeOfMany : makeOfFew
  const [typeIndex, address] = make(stack, handle, values, pack)
  stack.setPointer(slot, typeIndex, address)
  stack.undo.push(slot)
}

type Made = readonly [typeIndex: number, address: number]

function made(stack: Stack, base: number, typeIndex: number): Made {
  if (typeIndex === -1) throw takeError(stack, base)
  return [typeIndex, stack.pointer(base)]
}

function makeOfFew(stack: Stack, handle: number, values: readonly unknown[], pack: Pack): Made {
  // A getter of an element may change the array.
  const count = values.length
  return stack.frame(count, (base) => {
    for (let i = 0; i < count; i++) pack(stack, base + 1 + i, values[i])
    return made(stack, base, stack.call(base, handle, count))
  })
}

/** As {@link makeOfFew}, with owned values outside the argument stack, which they would fill. */
function makeOfMany(stack: Stack, handle: number, values: readonly unknown[], pack: Pack): Made {
  const { host, text } = stack
  const undone = stack.undo.length
  const total = values.length
  const owned = Buffer.alloc(total * VALUE_SIZE)
  const start = addressOf(owned)
  let done = 0
  return stack.frame(MANY, (base) => {
    const at = stack.slotAddress(base)
    try {
      while (done < total) {
        const count = Math.min(MANY, total - done)
        for (let i = 0; i < count; i++) pack(stack, base + 1 + i, values[done + i])
        if (host.tn_packed_own(at, count, start + done * VALUE_SIZE) !== 0) throw takeError(stack, base)
        done += count
        stack.settle(undone)
        stack.text = text
      }
      // The call takes the values over.
      done = 0
      return made(stack, base, host.tn_packed_call_owned(at, handle, start, total))
    } finally {
      host.tn_packed_clear_owned(start, done)
      keepAlive(owned)
    }
  })
}
