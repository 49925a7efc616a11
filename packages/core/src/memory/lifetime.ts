import type { Gate } from './gate.ts'

/**
 * Owns native resources until it is closed. `ResourceScope` of `@tenon/scope` is one; libraries and pools have theirs.
 *
 * @example
 * const library = NativeLibrary.open(path)
 * library.addCloseAction(() => console.log('closed'))
 * library.close()
 */
export interface Lifetime {
  /** Whether it is open: false as soon as closing begins, while close actions may still use what it owns. */
  readonly isAlive: boolean
  /** Checks that what it owns can be used. @throws {ScopeClosedError} once closed. @throws {WrongThreadError} on a thread that it is not for. */
  checkAlive(): void
  /** Runs `action` once at close, last added first. @throws {ScopeClosedError} once closing has begun. */
  addCloseAction(action: () => void): void
  /** Keeps it open until the hold is released. @throws {ScopeClosedError} once closing has begun. */
  acquire(): Hold
}

/** The holds of this thread that are not released. */
export const liveHolds: { count: number } = { count: 0 }

/**
 * Keeps one lifetime open. Releasing is idempotent: it counts once.
 *
 * @example
 * const hold = lifetime.acquire()
 * try {
 *   await useFromNativeThread(segment)
 * } finally {
 *   hold.release()
 * }
 */
export class Hold {
  #gate: Gate | null

  /** @internal */
  constructor(gate: Gate) {
    this.#gate = gate
    gate.holds++
    liveHolds.count++
  }

  release(): void {
    if (this.#gate === null) return
    this.#gate.holds--
    this.#gate = null
    liveHolds.count--
  }

  [Symbol.dispose](): void {
    this.release()
  }
}
