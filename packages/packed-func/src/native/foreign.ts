import { addressOf } from '@tenon/core/internal'
import type { Stack } from './stack.ts'

/**
 * Values of JavaScript that native code holds by id, and the action for the moment when native code releases each.
 * Releases come from any thread and are queued until this thread drains the queue.
 */
class ForeignValues {
  readonly #actions = new Map<number, () => void>()
  #last = 0

  /** Adds a value without an action. @returns its id */
  add(): number {
    const id = ++this.#last
    this.onRelease(id, () => {})
    return id
  }

  onRelease(id: number, action: () => void): void {
    this.#actions.set(id, action)
  }

  forget(id: number): void {
    this.#actions.delete(id)
  }

  /** Runs the action of an id that native code released. */
  release(id: number): void {
    const action = this.#actions.get(id)
    this.#actions.delete(id)
    action?.()
  }

  get size(): number {
    return this.#actions.size
  }
}

export const foreignValues: ForeignValues = new ForeignValues()

const CAPACITY = 256
const ids = new BigInt64Array(CAPACITY)

/** Runs the actions of all values that native code released. Makes no native call while native code holds none. */
export function drainReleased(stack: Stack): void {
  while (foreignValues.size > 0) {
    const count = stack.host.tn_packed_take_released(stack.address, addressOf(ids), CAPACITY)
    for (let i = 0; i < count; i++) foreignValues.release(Number(ids[i]))
    if (count < CAPACITY) return
  }
}
