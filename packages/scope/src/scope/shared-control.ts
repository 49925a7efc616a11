import { ScopeHeldError } from '@tenon/core'
import type { Worker } from 'node:worker_threads'
import { currentThread } from './current-thread.ts'

/** The words of a control block: the state, then a slot for each attachment. */
const STATE = 0
const FIRST_SLOT = 1
const WORDS = 1024
const BYTES = WORDS * Int32Array.BYTES_PER_ELEMENT

/** The limit of open handles of one shared scope. */
const MOST_ATTACHMENTS = WORDS - FIRST_SLOT

/** The lowest bits of the state. For the two states in the middle, the bits above them are the thread that set it. */
const KIND = 3
const OPEN = 0
/** A thread is finding out whether it can close the scope, which is open or closed a moment later. */
const CLOSING = 1
/** closeAsync() waits, and no thread can attach. */
const DRAINING = 2
const CLOSED = 3

/** The limit of the state CLOSING, in milliseconds. A thread that takes longer was terminated in the middle. */
const LONGEST_MOMENT = 200

const by = (thread: number, kind: number): number => ((thread + 1) << 2) | kind

/**
 * The state and the handles of one shared scope, common to all threads. A handle that attaches takes a slot and then reads
 * the state. A handle that closes changes the state and then reads the slots. One of two such threads always sees the
 * other.
 */
export class SharedControl {
  readonly buffer: SharedArrayBuffer
  readonly #words: Int32Array

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(BYTES)) {
    this.buffer = buffer
    this.#words = new Int32Array(buffer)
  }

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
      if (Atomics.compareExchange(this.#words, slot, 0, currentThread() + 1) === 0) return slot
    }
    throw new ScopeHeldError(`a shared scope can have at most ${MOST_ATTACHMENTS} open handles, and all are in use`, {
      hint: 'Detach handles that you no longer need.',
    })
  }

  /** Waits until the state differs from `state`. @returns false if it does not change in time. */
  #changes(state: number): boolean {
    return Atomics.wait(this.#words, STATE, state, LONGEST_MOMENT) !== 'timed-out'
  }

  release(slot: number): void {
    Atomics.store(this.#words, slot, 0)
  }

  /** Releases the slots of a thread that has ended, and reverts an unfinished close of it. */
  releaseThread(thread: number): void {
    for (let slot = FIRST_SLOT; slot < WORDS; slot++) Atomics.compareExchange(this.#words, slot, thread + 1, 0)
    this.#replace(by(thread, CLOSING), OPEN)
    this.#replace(by(thread, DRAINING), OPEN)
  }

  get isClosed(): boolean {
    return Atomics.load(this.#words, STATE) === CLOSED
  }

  /** The number of handles besides the one of this slot. */
  others(slot: number): number {
    let count = 0
    for (let other = FIRST_SLOT; other < WORDS; other++) {
      if (other !== slot && Atomics.load(this.#words, other) !== 0) count++
    }
    return count
  }

  /** Returns the number of other handles, or 'closed'. `isDraining` says whether this handle called {@link drain}. */
  close(slot: number, isDraining: boolean): number | 'closed' {
    const before = isDraining ? by(currentThread(), DRAINING) : OPEN
    for (;;) {
      const state = Atomics.compareExchange(this.#words, STATE, before, by(currentThread(), CLOSING))
      if (state === CLOSED) return 'closed'
      if (state === before) break
      if ((state & KIND) === DRAINING) return this.others(slot)
      // Another thread is closing the scope and decides in a moment.
      if (!this.#changes(state)) return this.others(slot)
    }
    const others = this.others(slot)
    this.#replace(by(currentThread(), CLOSING), others === 0 ? CLOSED : OPEN)
    return others
  }

  /** Refuses new handles until {@link undrain}. @returns false if another handle drains or closes. */
  drain(): boolean {
    return this.#replace(OPEN, by(currentThread(), DRAINING))
  }

  undrain(): void {
    this.#replace(by(currentThread(), DRAINING), OPEN)
  }

  /** Resolves when a handle drains the scope or has closed it. */
  async whenClosing(): Promise<void> {
    for (;;) {
      const state = Atomics.load(this.#words, STATE)
      if ((state & KIND) === DRAINING || state === CLOSED) return
      await Atomics.waitAsync(this.#words, STATE, state).value
    }
  }

  /** Replaces one state by another and wakes waiting threads. @returns false if the state was not `before`. */
  #replace(before: number, after: number): boolean {
    const isDone = Atomics.compareExchange(this.#words, STATE, before, after) === before
    if (isDone) Atomics.notify(this.#words, STATE)
    return isDone
  }
}

/** The shared scopes that were sent to each worker. */
const sent = new WeakMap<Worker, Set<SharedControl>>()

/** Returns a worker's handles of a shared scope when the worker ends. Each worker gets one listener for all its scopes. */
export function releaseAtExit(worker: Worker, control: SharedControl): void {
  const { threadId: thread } = worker
  const controls = sent.get(worker) ?? new Set()
  if (!sent.has(worker)) {
    sent.set(worker, controls)
    worker.once('exit', () => controls.forEach((one) => one.releaseThread(thread)))
  }
  // A worker may live long, so scopes that are closed for all threads are dropped here.
  for (const one of controls) if (one.isClosed) controls.delete(one)
  controls.add(control)
}
