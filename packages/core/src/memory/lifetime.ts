import { inspectAsText } from '../errors/inspect.ts'

/**
 * An owner of native resources, which live until the owner is closed. `ResourceScope` of `@tenon/scope`, libraries and
 * pools are lifetimes.
 *
 * @example
 * const library = NativeLibrary.open(path)
 * library.addCloseAction(() => console.log('closed'))
 * library.close()
 */
export interface Lifetime {
  /** Whether the lifetime is open. It is false from the moment closing begins. */
  readonly isAlive: boolean
  /**
   * Checks that the lifetime's resources may be read. Close actions may still read them.
   *
   * @throws {ScopeClosedError} once closed. @throws {WrongThreadError} on a thread that it does not belong to.
   */
  checkAlive(): void
  /** Checks that the lifetime can be entered. @throws as {@link checkAlive}, and once closing has begun. */
  checkOpen(): void
  /**
   * Runs `action` once at close. The action that was added last runs first. Actions may call functions of a library that is closed
   * with the lifetime, for example to free handles.
   *
   * @throws {ScopeClosedError} once closing has begun.
   */
  addCloseAction(action: () => void): void
  /** Keeps the lifetime open until the hold is released. @throws {ScopeClosedError} once closing has begun. */
  acquire(): Hold
  /**
   * Closes the lifetime: its resources cannot be used any more.
   *
   * @throws {ScopeClosedError} if it is closed, or cannot be closed because the garbage collector owns its memory.
   * @throws {ScopeHeldError} if calls or holds use it. It stays open.
   */
  close(): void
}

/** An operand of a call, which a gate keeps alive. */
export interface Gated {
  readonly gate: Gate
}

/**
 * The state of one lifetime and the count of its users. Entering is the one way to use a lifetime, and fails from the
 * moment closing begins; the lifetime that owns the gate closes it.
 */
export class Gate {
  /**
   * Makes structured clone fail, so posting a segment throws instead of copying its chunk. It is the first field, because
   * the error has the description of the first symbol that is reached. An owner that can be shared in another way replaces it.
   */
  notCloneable: symbol
  /** Whether the lifetime can be entered: false from the moment closing begins. */
  open: boolean
  /** Whether what the lifetime owns may be read: stays true while close actions run. */
  alive: boolean
  readonly owner: Lifetime
  /** The uses by calls in progress without a list of operands: one for each argument, and one for the function's library. */
  calls: number
  private count: number

  constructor(owner: Lifetime) {
    this.notCloneable = NOT_CLONEABLE
    this.open = true
    this.alive = true
    this.owner = owner
    this.calls = 0
    this.count = 0
  }

  get holds(): number {
    return this.count
  }

  /** Enters the lifetime. @throws {ScopeClosedError | WrongThreadError} if it is not open. */
  enter(): void {
    if (!this.open) this.owner.checkOpen()
    this.count++
  }

  /** Adds a user for a caller that has entered already, also while `closeAsync()` waits for it to leave. */
  reenter(): void {
    if (this.count === 0 && this.calls === 0) this.enter()
    else this.count++
  }

  /** Ends what {@link enter} began: exactly once, in a `finally`. */
  exit(): void {
    this.count--
  }
}

/** The engine's message is "Symbol(description) could not be cloned.", and it shortens long descriptions. */
const NOT_CLONEABLE = Symbol(
  'native resources cannot be posted to another thread: use share() or handoff() of a scope, or a copy',
)

/** Enters the lifetimes of all operands, or of none. @throws {ScopeClosedError | WrongThreadError} if one is not open. */
export function enterAll(gated: readonly Gated[]): void {
  let entered = 0
  try {
    for (; entered < gated.length; entered++) gated[entered]!.gate.enter()
  } catch (error) {
    exitAll(gated.slice(0, entered))
    throw error
  }
}

export function exitAll(gated: readonly Gated[]): void {
  for (const { gate } of gated) gate.exit()
}

/** The number of holds of this thread that are not released. */
export const liveHolds: { count: number } = { count: 0 }

/**
 * Keeps one lifetime open until it is released. Releasing a hold twice has no further effect.
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
  /** @internal the memory that stays reachable until the hold is released */
  memory: unknown

  static {
    inspectAsText(this)
  }

  /** @internal @throws {ScopeClosedError | WrongThreadError} if the gate is not open. */
  constructor(gate: Gate, memory?: unknown) {
    gate.enter()
    this.#gate = gate
    this.memory = memory
    liveHolds.count++
  }

  release(): void {
    if (this.#gate === null) return
    this.#gate.exit()
    this.#gate = this.memory = null
    liveHolds.count--
  }

  [Symbol.dispose](): void {
    this.release()
  }

  toString(): string {
    return `Hold (${this.#gate === null ? 'released' : 'open'})`
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
