import { addressOf, keepAlive, LAYOUTS } from '@tenon/core/internal'
import { takeError } from '../errors/crossing.ts'
import { MemoryError } from '../errors/error-kinds.ts'
import { globalFunction } from '../native/global-function.ts'
import { own, ownedAddress } from '../native/owned.ts'
import type { Pack, Stack } from '../native/stack.ts'

/** The number of elements that go through the argument stack at once. */
const MANY = 1024

const VALUE_SIZE: number = LAYOUTS.TVMFFIAny.size

/** The places of the makers, which are global functions that a function of TypeScript can replace. */
const makers: { 'ffi.Array'?: number; 'ffi.Map'?: number } = {}

/** The call releases the object at its end. */
export function packContainer(
  stack: Stack,
  slot: number,
  maker: keyof typeof makers,
  values: readonly unknown[],
  pack: Pack,
): void {
  const place = (makers[maker] ??= own(globalFunction(maker)))
  const handle = ownedAddress(place)
  // Getters of elements may change the array, and a proxy of one may have any length.
  const count = Math.max(0, Math.trunc(Number(values.length)) || 0)
  const make = count > MANY ? makeOfMany : makeOfFew
  make(stack, slot, handle, values, count, pack)
  stack.releaseLater(slot)
}

function take(stack: Stack, slot: number, base: number, typeIndex: number): void {
  if (typeIndex === -1) throw takeError(stack, base)
  stack.setPointer(slot, typeIndex, stack.pointer(base))
}

function makeOfFew(
  stack: Stack,
  slot: number,
  handle: number,
  values: readonly unknown[],
  count: number,
  pack: Pack,
): void {
  stack.frame(count, (base) => {
    for (let i = 0; i < count; i++) pack(stack, base + 1 + i, values[i])
    take(stack, slot, base, stack.call(base, handle, count))
  })
}

/** The number of arguments of a call is an int32. @throws {MemoryError} */
function allocate(count: number): Buffer {
  try {
    if (count < 2 ** 31) return Buffer.alloc(count * VALUE_SIZE)
  } catch {
    // There is no memory for so many values.
  }
  throw new MemoryError(`out of memory for a container of ${count} values`)
}

/** Keeps owned values outside the argument stack, which they would fill. */
function makeOfMany(
  stack: Stack,
  slot: number,
  handle: number,
  values: readonly unknown[],
  total: number,
  pack: Pack,
): void {
  const { entered, text } = stack
  const undone = stack.undo.length
  const owned = allocate(total)
  const start = addressOf(owned)
  let done = 0
  stack.frame(MANY, (base) => {
    const at = stack.slotAddress(base)
    try {
      while (done < total) {
        const count = Math.min(MANY, total - done)
        for (let i = 0; i < count; i++) pack(stack, base + 1 + i, values[done + i])
        if (entered.tn_packed_own(at, count, start + done * VALUE_SIZE) !== 0) throw takeError(stack, base)
        done += count
        stack.settle(undone)
        stack.text = text
      }
      // The call takes the values over.
      done = 0
      const call = (): number => entered.tn_packed_call_owned(at, handle, start, total)
      take(stack, slot, base, stack.resultOf(base, call))
    } finally {
      if (done > 0) stack.cleanUp(() => entered.tn_packed_clear_owned(start, done))
      keepAlive(owned)
    }
  })
}
