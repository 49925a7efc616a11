import { ScopeHeldError } from '@tenon/core'

/** The words of a control block: the state, then a slot for each attachment. */
const STATE = 0
const FIRST_SLOT = 1
const WORDS = 1024

/** How many handles of one shared scope can be open at the same time. */
const MOST_ATTACHMENTS = WORDS - FIRST_SLOT

const OPEN = 0
/** Somebody is finding out whether it can close: open or closed in a moment. */
const CLOSING = 1
/** closeAsync() waits: nobody can attach. */
const DRAINING = 2
const CLOSED = 3

/**
 * What the handles of one shared scope agree on, over all threads: whether it is open, and which handles there are. A
 * handle
 * that attaches takes a slot and then reads the state; one that closes changes the state and then reads the slots. One
 * of
 * two such threads always sees the other.
 */
export class SharedControl {
  readonly buffer: SharedArrayBuffer
  readonly #words: Int32Array

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(WORDS * Int32Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer
    this.#words = new Int32Array(buffer)
  }

  /** Takes a slot for a handle of this thread. @returns the slot, or undefined if the scope is closed or draining. */
  attach(threadId: number): number | undefined {
    for (;;) {
      const slot = this.#take(threadId)
      const state = Atomics.load(this.#words, STATE)
      if (state === OPEN) return slot
      this.release(slot)
      if (state !== CLOSING) return undefined
      Atomics.wait(this.#words, STATE, CLOSING)
    }
  }

  #take(threadId: number): number {
    for (let slot = FIRST_SLOT; slot < WORDS; slot++) {
      if (Atomics.compareExchange(this.#words, slot, 0, threadId + 1) === 0) return slot
    }
    throw new ScopeHeldError(`a shared scope can have ${MOST_ATTACHMENTS} handles at a time, all are taken`, {
      hint: 'close handles that are not needed any more.',
    })
  }

  /** Gives a slot back. */
  release(slot: number): void {
    Atomics.store(this.#words, slot, 0)
  }

  /** Gives back the slots of a thread that has ended. */
  releaseThread(threadId: number): void {
    for (let slot = FIRST_SLOT; slot < WORDS; slot++) Atomics.compareExchange(this.#words, slot, threadId + 1, 0)
  }

  /** How many handles there are besides the one of this slot. */
  others(slot: number): number {
    let count = 0
    for (let other = FIRST_SLOT; other < WORDS; other++) {
      if (other !== slot && Atomics.load(this.#words, other) !== 0) count++
    }
    return count
  }

  /**
   * Closes the scope if the handle of this slot is its only one.
   *
   * @param isDraining whether this handle called {@link drain}.
   * @returns how many others there are, or 'closed'.
   */
  close(slot: number, isDraining: boolean): number | 'closed' {
    const before = isDraining ? DRAINING : OPEN
    for (;;) {
      const state = Atomics.compareExchange(this.#words, STATE, before, CLOSING)
      if (state === CLOSED) return 'closed'
      if (state === before) break
      if (state === DRAINING) return this.others(slot)
      // Another closer knows in a moment.
      Atomics.wait(this.#words, STATE, CLOSING)
    }
    const others = this.others(slot)
    this.#set(others === 0 ? CLOSED : OPEN)
    return others
  }

  /** Refuses new handles until {@link undrain}. @returns false if another handle drains or closes. */
  drain(): boolean {
    const isDraining = Atomics.compareExchange(this.#words, STATE, OPEN, DRAINING) === OPEN
    if (isDraining) Atomics.notify(this.#words, STATE)
    return isDraining
  }

  undrain(): void {
    if (Atomics.compareExchange(this.#words, STATE, DRAINING, OPEN) === DRAINING) Atomics.notify(this.#words, STATE)
  }

  /** Resolves when the scope is not open any more: somebody drains or has closed it. */
  async whenClosing(): Promise<void> {
    for (;;) {
      const state = Atomics.load(this.#words, STATE)
      if (state === DRAINING || state === CLOSED) return
      await Atomics.waitAsync(this.#words, STATE, state).value
    }
  }

  #set(state: number): void {
    Atomics.store(this.#words, STATE, state)
    Atomics.notify(this.#words, STATE)
  }
}
