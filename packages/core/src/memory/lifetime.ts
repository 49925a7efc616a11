import type { Gate, Gated } from './gate.ts'

/**
 * An owner of native resources, which live until it is closed. `ResourceScope` of `@tenon/scope` is one; libraries and
 * pools are others.
 *
 * @example
 * const library = NativeLibrary.open(path)
 * library.addCloseAction(() => console.log('closed'))
 * library.close()
 */
export interface Lifetime {
  /** Whether the lifetime is open: false from the moment closing begins. */
  readonly isAlive: boolean
  /**
   * Checks that what the lifetime owns may be read, which close actions may still do.
   *
   * @throws {ScopeClosedError} once closed. @throws {WrongThreadError} on a thread that it does not belong to.
   */
  checkAlive(): void
  /** Checks that the lifetime can be entered. @throws as {@link checkAlive}, and once closing has begun. */
  checkOpen(): void
  /** Runs `action` once at close, last added first. @throws {ScopeClosedError} once closing has begun. */
  addCloseAction(action: () => void): void
  /** Keeps the lifetime open until the hold is released. @throws {ScopeClosedError} once closing has begun. */
  acquire(): Hold
}

/** The number of holds of this thread that are not released. */
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

  /** @internal @throws {ScopeClosedError | WrongThreadError} if the gate is not open. */
  constructor(gate: Gate) {
    gate.enter()
    this.#gate = gate
    liveHolds.count++
  }

  release(): void {
    if (this.#gate === null) return
    this.#gate.exit()
    this.#gate = null
    liveHolds.count--
  }

  [Symbol.dispose](): void {
    this.release()
  }
}

/** Holds all operands open, or none. @throws {ScopeClosedError | WrongThreadError} if one of them is not open. */
export function holdAll(gated: Iterable<Gated>): Hold[] {
  const holds: Hold[] = []
  try {
    for (const { gate } of gated) holds.push(new Hold(gate))
    return holds
  } catch (error) {
    releaseAll(holds)
    throw error
  }
}

/** Releases holds; those released before are not counted again. */
export function releaseAll(holds: Iterable<Hold>): void {
  for (const hold of holds) hold.release()
}
