import { setTimeout } from 'node:timers/promises'
import { ArgumentError, type Hold } from '@tenon/core'
import { Block, checkName, checkSize, describe, usersOf, ManagedLifetime } from '@tenon/core/internal'
import { debugGuard } from '../diagnostics/debug.ts'
import { newGuardedChunk } from '../diagnostics/guarded-chunk.ts'
import { counters } from '../diagnostics/counters.ts'
import { noteClose, noteOpen } from '../diagnostics/observe.ts'
import { checkOptions } from './check-options.ts'
import { type Chunk, detach, newChunk } from './chunk.ts'
import { Anchor, Cleaner } from './cleaner.ts'
import { runIn, runInAsync } from './run.ts'

/** How a scope is opened. */
export interface ScopeOptions {
  /** What messages call it: `the scope "request"`. */
  readonly name?: string
  /**
   * Run the close actions also when the scope and all its memory become garbage unclosed. A safety net, not a way to
   * close: nobody knows when the garbage collector comes.
   */
  readonly managed?: boolean
}

/** A block that is one scope's alone. */
export interface OwnedBlock {
  readonly block: Block
  /** In bytes. */
  readonly size: number
  readonly upkeep: Upkeep
}

/** What memory needs at close that is not JavaScript's. */
export interface Upkeep {
  /** Looks at it before it is freed. What it throws comes out of close(), after everything is freed. */
  readonly check?: () => void
  /** Gives it back, once no view reaches it any more. */
  readonly free?: () => void
}

const NONE: Upkeep = {}

/** How long `closeAsync` waits. */
export interface CloseOptions {
  /** In milliseconds; for ever without it. */
  readonly timeout?: number
}

/** How long closeAsync() sleeps between two looks, in milliseconds. */
const LONGEST_PAUSE = 32

/** Runs what a block needs; what it throws comes later, when all blocks have had their turn. */
function attempt(run: (() => void) | undefined, errors: unknown[]): void {
  try {
    run?.()
  } catch (error) {
    errors.push(error)
  }
}

function nameOf(options: ScopeOptions): string | undefined {
  const { name, managed } = checkOptions(options)
  if (managed !== undefined && typeof managed !== 'boolean') {
    throw new ArgumentError(`managed must be true or false, got ${describe(managed)}`)
  }
  return name === undefined ? undefined : checkName(name, 'name')
}

/** A scope that is closed by hand: what confined and shared ones have in common. */
export abstract class ManagedScope extends ManagedLifetime {
  // `declare`: see ManagedLifetime.
  /** What messages call it, if it has a name. */
  declare readonly name: string | undefined
  /** @internal */
  declare owned: OwnedBlock[] | undefined
  /** @internal of a managed scope */
  declare cleaner: Cleaner | undefined

  /** @internal */
  constructor(options: ScopeOptions | undefined) {
    super()
    this.name = options === undefined ? undefined : nameOf(options)
    this.owned = undefined
    this.cleaner = undefined
    counters.openScopes++
    noteOpen(this)
    if (options?.managed === true) this.manage()
  }

  /** @internal */
  manage(): void {
    this.cleaner = new Cleaner(new Anchor(), { id: 0, name: this.name, kind: this.kind, stack: undefined })
    this.actions = this.cleaner.actions
  }

  abstract get kind(): 'confined' | 'shared'

  protected override get label(): string {
    return this.name === undefined ? `the ${this.kind} scope` : `the ${this.kind} scope "${this.name}"`
  }

  /** Keeps it open until the lock is released. @throws {ScopeClosedError} once closing has begun. */
  lock(): Hold {
    return this.acquire()
  }

  /**
   * Runs a function with this scope, and closes it when the function has returned or thrown.
   *
   * @returns what the function returned.
   * @throws {ArgumentError} if it returned a promise, which would use the scope after it is closed: see {@link
   * runAsync}.
   * @throws {ScopeClosedError} if it is closed: the function is not called.
   * @throws what the function or closing threw; an `AggregateError` if both did.
   */
  run<Result>(use: (scope: this) => Result): Result {
    this.checkOpen()
    return runIn(this, use)
  }

  /**
   * Runs an asynchronous function with this scope, and closes it when its promise has settled. @throws as {@link run}
   */
  async runAsync<Result>(use: (scope: this) => PromiseLike<Result>): Promise<Result> {
    this.checkOpen()
    return runInAsync(this, use)
  }

  /**
   * Closes it as soon as calls and holds that use it have ended. Until then nothing new can be allocated, added or
   * held.
   *
   * @throws {ScopeHeldError} if they have not ended in time: it is open again. @throws what an action threw.
   */
  async closeAsync(options: CloseOptions = {}): Promise<void> {
    this.checkOpen()
    const { timeout: limit } = checkOptions(options)
    const timeout = limit === undefined ? Infinity : checkSize(limit, 'timeout', 'milliseconds')
    const end = performance.now() + timeout
    this.gate.open = false
    this.drain()
    for (let pause = 1; this.isHeld() && performance.now() < end; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      await setTimeout(Math.min(pause, end - performance.now()))
    }
    this.gate.open = true
    this.undrain()
    try {
      this.close()
    } finally {
      this.endDrain()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.gate.open) await this.closeAsync()
  }

  /** @internal Refuses what is new while closeAsync() waits. */
  drain(): void {
    this.seal()
  }

  /** @internal Takes back on this thread what {@link drain} did, for close() to do it again. */
  undrain(): void {}

  /** @internal Lets others in again, if it is still open. */
  endDrain(): void {}

  /** @internal Whether something keeps it from being closed. */
  isHeld(): boolean {
    const { holds, calls } = usersOf(this.gate)
    return holds + calls > 0
  }

  /**
   * @internal A block for one segment alone, whose memory goes back to the system at close. The numbers are checked.
   */
  newBlock(byteSize: number, byteAlignment: number): Block {
    this.checkOpen()
    const chunk = this.makeChunk(byteSize, byteAlignment)
    return this.own(new Block(this.gate, chunk.view, chunk.bytes, chunk.address), chunk.size, chunk)
  }

  /** @internal Takes over a block of `size` bytes: checks, detaches and frees it at close. */
  own(block: Block, size: number, upkeep: Upkeep = NONE): Block {
    this.owned ??= []
    this.owned.push({ block, size, upkeep })
    counters.liveBytes += size
    if (this.cleaner !== undefined) {
      this.cleaner.follow(block.view.buffer, size)
      if (upkeep.free !== undefined) this.cleaner.addFree(upkeep.free)
    }
    return block
  }

  /** @internal What this kind of scope makes its memory of. */
  makeChunk(byteSize: number, byteAlignment: number): Chunk & Upkeep {
    if (debugGuard) return newGuardedChunk(byteSize, byteAlignment, this.label)
    return newChunk(byteSize, byteAlignment)
  }

  protected override release(): void {
    counters.openScopes--
    noteClose(this)
    this.cleaner?.cancel()
    if (this.owned !== undefined) this.releaseOwned(this.owned)
  }

  /** @internal */
  releaseOwned(owned: readonly OwnedBlock[]): void {
    this.owned = undefined
    const errors: unknown[] = []
    for (const { block, size, upkeep } of owned) {
      counters.liveBytes -= size
      attempt(upkeep.check, errors)
      // Who transferred the buffer of a raw view away has its memory for good: better that it leaks than that it dangles.
      if (detach(block.view)) attempt(upkeep.free, errors)
    }
    if (errors.length > 0)
      throw errors.length === 1 ? errors[0] : new AggregateError(errors, `${this.label} was damaged`)
  }
}
