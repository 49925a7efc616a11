import { addressOf, keepAlive, LAYOUTS } from '@tenon/core/internal'
import { takeError } from '../errors/crossing.ts'
import { globalFunction } from '../native/global-function.ts'
import type { Pack, Stack } from '../native/stack.ts'

/** The number of elements that go through the argument stack at once. */
const MANY = 1024

const VALUE_SIZE: number = LAYOUTS.TVMFFIAny.size

/** The makers are global functions, which a function of TypeScript can replace. */
const makers: { 'ffi.Array'?: number; 'ffi.Map'?: number } = {}

/** The call releases the object at its end. */
export function packContainer(
  stack: Stack,
  slot: number,
  maker: keyof typeof makers,
  values: readonly unknown[],
  pack: Pack,
): void {
  const handle = (makers[maker] ??= globalFunction(maker))
  const make = values.length > MANY ? makeOfMany : makeOfFew
  make(stack, slot, handle, values, pack)
  stack.undo.push(slot)
}

function take(stack: Stack, slot: number, base: number, typeIndex: number): void {
  if (typeIndex === -1) throw takeError(stack, base)
  stack.setPointer(slot, typeIndex, stack.pointer(base))
}

function makeOfFew(stack: Stack, slot: number, handle: number, values: readonly unknown[], pack: Pack): void {
  // A getter of an element may change the array.
  const count = values.length
  stack.frame(count, (base) => {
    for (let i = 0; i < count; i++) pack(stack, base + 1 + i, values[i])
    take(stack, slot, base, stack.call(base, handle, count))
  })
}

/** Keeps owned values outside the argument stack, which they would fill. */
function makeOfMany(stack: Stack, slot: number, handle: number, values: readonly unknown[], pack: Pack): void {
  const { entered, text } = stack
  const undone = stack.undo.length
  const total = values.length
  const owned = Buffer.alloc(total * VALUE_SIZE)
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
