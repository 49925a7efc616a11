import { addressOf } from '@tenon/core/internal'
import type { Stack } from './stack.ts'

/**
 * Values of JavaScript that native code holds by id: what is to be done when it gives one back. Releases come from any
 * thread and wait in a queue until this thread looks.
 */
class ForeignValues {
  readonly #actions = new Map<number, () => void>()
  #last = 0

  /** A new id. */
  add(onRelease: () => void = () => {}): number {
    const id = ++this.#last
    this.#actions.set(id, onRelease)
    return id
  }

  onRelease(id: number, action: () => void): void {
    this.#actions.set(id, action)
  }

  forget(id: number): void {
    this.#actions.delete(id)
  }

  /** Does what was to be done for an id that came back. */
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

/** Hears of the values that native code has given back. Nothing to do, and no call, if it holds none. */
export function drainReleased(stack: Stack): void {
  while (foreignValues.size > 0) {
    const count = stack.host.takeReleased(stack.address, addressOf(ids), CAPACITY)
    for (let i = 0; i < count; i++) foreignValues.release(Number(ids[i]))
    if (count < CAPACITY) return
  }
}
