import { addressOf } from '@tenon/core/internal'
import type { Stack } from './stack.ts'

/**
 * Values of JavaScript that native code holds by id, as the actions for the moment when native code releases each. Releases come
 * from any thread and are queued until this thread drains the queue, which calls do, and lifetimes that are closed.
 */
export const foreignValues: Map<number, () => void> = new Map()

let last = 0

export function addForeign(): number {
  foreignValues.set(++last, () => {})
  return last
}

const CAPACITY = 256
const ids = new BigInt64Array(CAPACITY)

/** Runs the actions of all values that native code released. Makes no native call while native code holds none. */
export function drainReleased(stack: Stack): void {
  while (foreignValues.size > 0) {
    const count = stack.host.tn_packed_take_released(stack.address, addressOf(ids), CAPACITY)
    for (const id of ids.subarray(0, count)) {
      const release = foreignValues.get(Number(id))
      foreignValues.delete(Number(id))
      release?.()
    }
    if (count < CAPACITY) return
  }
}
