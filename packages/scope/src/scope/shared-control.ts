import { ScopeHeldError } from '@tenon/core'
import { threadId } from 'node:worker_threads'

/** The words of a control block: the state, then a slot for each attachment. */
const STATE = 0
const FIRST_SLOT = 1
const WORDS = 1024
const BYTES = WORDS * Int32Array.BYTES_PER_ELEMENT

/** How many handles of one shared scope can be open at the same time. */
const MOST_ATTACHMENTS = WORDS - FIRST_SLOT

/** The lowest bits of the state; above them is whose doing it is, for the two in the middle. */
const KIND = 3
const OPEN = 0
/** Somebody is finding out whether it can close: open or closed in a moment. */
const CLOSING = 1
/** closeAsync() waits: nobody can attach. */
const DRAINING = 2
const CLOSED = 3

/** How long a moment can be, in milliseconds. Who takes longer was terminated in the middle. */
const LONGEST_MOMENT = 200

/** A state that a thread has brought about. */
const by = (thread: number, kind: number): number => ((thread + 1) << 2) | kind

/**
 * What the handles of one shared scope agree on, over all threads: whether it is open, and which handles there are. A
 * handle that attaches takes a slot and then reads the state; one that closes changes the state and then reads the slots.
 * One of two such threads always sees the other.
 */
export class SharedControl {
  readonly buffer: SharedArrayBuffer
  readonly #words: Int32Array

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(BYTES)) {
    this.buffer = buffer
    this.#words = new Int32Array(buffer)
  }

  /** Whether something can be the buffer of one. */
  static isBuffer(value: unknown): value is SharedArrayBuffer {
    return value instanceof SharedArrayBuffer && value.byteLength === BYTES
  }

  /** Takes a slot for a handle of this thread. @returns the slot, or undefined if the scope is closed or draining. */
  attach(): number | undefined {
    for (;;) {
      const slot = this.#take()
      const state = Atomics.load(this.#words, STATE)
      if (state === OPEN) return slot
      this.release(slot)
      if ((state & KIND) !== CLOSING || !this.#changes(state)) return undefined
    }
  }

  #take(): number {
    for (let slot = FIRST_SLOT; slot < WORDS; slot++) {
      if (Atomics.compareExchange(this.#words, slot, 0, threadId + 1) === 0) return slot
    }
    throw new ScopeHeldError(`a shared scope can have ${MOST_ATTACHMENTS} handles at a time, all are taken`, {
      hint: 'close handles that are not needed any more.',
    })
  }

  /** Waits until the state is another one. @returns false if it stays as it is. */
  #changes(state: number): boolean {
    return Atomics.wait(this.#words, STATE, state, LONGEST_MOMENT) !== 'timed-out'
  }

  /** Gives a slot back. */
  release(slot: number): void {
    Atomics.store(this.#words, slot, 0)
  }

  /** Gives back the slots of a thread that has ended, and ends what it was in the middle of. */
  releaseThread(thread: number): void {
    for (let slot = FIRST_SLOT; slot < WORDS; slot++) Atomics.compareExchange(this.#words, slot, thread + 1, 0)
    this.#replace(by(thread, CLOSING), OPEN)
    this.#replace(by(thread, DRAINING), OPEN)
  }

  /** Whether it is closed, for all and for good. */
  get isClosed(): boolean {
    return Atomics.load(this.#words, STATE) === CLOSED
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
    const before = isDraining ? by(threadId, DRAINING) : OPEN
    for (;;) {
      const state = Atomics.compareExchange(this.#words, STATE, before, by(threadId, CLOSING))
      if (state === CLOSED) return 'closed'
      if (state === before) break
      if ((state & KIND) === DRAINING) return this.others(slot)
      // Another closer knows in a moment.
      if (!this.#changes(state)) return this.others(slot)
    }
    const others = this.others(slot)
    this.#replace(by(threadId, CLOSING), others === 0 ? CLOSED : OPEN)
    return others
  }

  /** Refuses new handles until {@link undrain}. @returns false if another handle drains or closes. */
  drain(): boolean {
    return this.#replace(OPEN, by(threadId, DRAINING))
  }

  undrain(): void {
    this.#replace(by(threadId, DRAINING), OPEN)
  }

  /** Resolves when the scope is not open any more: somebody drains or has closed it. */
  async whenClosing(): Promise<void> {
    for (;;) {
      const state = Atomics.load(this.#words, STATE)
      if ((state & KIND) === DRAINING || state === CLOSED) return
      await Atomics.waitAsync(this.#words, STATE, state).value
    }
  }

  /** Makes one state of another, and wakes who waits for that. @returns false if it was not that one. */
  #replace(before: number, after: number): boolean {
    const isDone = Atomics.compareExchange(this.#words, STATE, before, after) === before
    if (isDone) Atomics.notify(this.#words, STATE)
    return isDone
  }
}
