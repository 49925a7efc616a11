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
  readonly isAlive: boolean
  /** @throws {ScopeClosedError} once closed. @throws {WrongThreadError} on a thread that it is not for. */
  checkAlive(): void
  /** Runs `action` once at close, last added first. @throws {ScopeClosedError} once closing has begun. */
  addCloseAction(action: () => void): void
  /** Keeps it open until the hold is released. @throws {ScopeClosedError} once closing has begun. */
  acquire(): Hold
}

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
  }

  release(): void {
    if (this.#gate !== null) this.#gate.holds--
    this.#gate = null
  }

  [Symbol.dispose](): void {
    this.release()
  }
}
