import { Block, checkName, checkOptions, checkSize, guardMode, ManagedLifetime, usersOf } from '@tenon/core/internal'
import { checkBoolean, checkFunction } from '../check.ts'
import { newGuardedChunk } from '../diagnostics/guarded-chunk.ts'
import { counters } from '../diagnostics/stats.ts'
import { noteClose, noteOpen } from '../diagnostics/observe.ts'
import { Anchor } from './anchor.ts'
import { type Chunk, detach, newChunk, retire, type Upkeep } from './chunk.ts'
import { attempt, checkPlain, closeAfter, throwErrors } from './run.ts'

/** Options for opening a scope. */
export interface ScopeOptions {
  /** The name of the scope in messages, such as `the confined scope "request"`. */
  readonly name?: string
  /**
   * Whether the close actions also run if the scope was never closed and the garbage collector has collected the scope, its segments and
   * all raw views of its memory. An action that refers to one of them keeps them alive, so it runs only at `close()`. Use this only as a
   * safety net, because the time of a collection is unknown, and nothing runs when the process ends.
   */
  readonly managed?: boolean
}

export interface OwnedBlock {
  readonly block: Block
  /** The size in bytes. */
  readonly size: number
  readonly upkeep: Upkeep
  /** Whether the block is an allocation of an arena, which allocates parts of a chunk elsewhere. */
  readonly isOfArena: boolean
}

const NONE: Upkeep = {}

/** Whether a block is JavaScript's memory. Memory that native code owns has the size 0 here. */
const isOwn = ({ free }: Upkeep, size: number): boolean => free === undefined && size > 0

/** Options of `closeAsync()`. */
export interface CloseOptions {
  /** The longest time to wait for calls and holds, in milliseconds. Default: no limit. */
  readonly deadline?: number
}

/** The longest sleep of closeAsync() between two looks, in milliseconds. */
const LONGEST_PAUSE = 32

/** The calls of closeAsync() that wait. A field would make opening a scope slower. */
const pending = new WeakMap<ManagedScope, Promise<void>>()

/** Refuses new users until the present ones have left, or until `end`, and closes the scope. */
async function drainAndClose(scope: ManagedScope, end: number): Promise<void> {
  // Loaded here, because it takes 2 ms to load.
  const { setTimeout } = process.getBuiltinModule('node:timers/promises')
  const { gate } = scope
  gate.open = false
  scope.drain()
  try {
    for (let pause = 1; scope.isHeld() && performance.now() < end; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      await setTimeout(Math.min(pause, end - performance.now()))
    }
    // Disposal has closed it meanwhile.
    if (!gate.alive) return
    gate.open = true
    scope.undrain()
    scope.close()
  } finally {
    scope.endDrain()
  }
}

function nameOf(options: ScopeOptions): string | undefined {
  const { name, managed } = checkOptions(options, ['name', 'managed'])
  checkBoolean(managed, 'managed')
  return name === undefined ? undefined : checkName(name, 'name')
}

/** The base of confined and shared scopes, which are closed explicitly. */
export abstract class ManagedScope extends ManagedLifetime {
  // `declare`: see ManagedLifetime.
  /** The name of the scope in messages, if it has one. */
  declare readonly name: string | undefined
  /** @internal */
  declare owned: OwnedBlock[] | undefined
  /** @internal Present if the scope was opened with `managed`. */
  declare anchor: Anchor | undefined

  /** @internal */
  constructor(options: ScopeOptions | undefined) {
    super()
    this.name = options === undefined ? undefined : nameOf(options)
    this.owned = undefined
    this.anchor = undefined
    counters.openScopes++
    noteOpen(this)
    if (options?.managed === true) this.manage()
  }

  /** @internal Lets the close actions run when the scope is collected. */
  manage(): void {
    this.anchor = new Anchor({ id: 0, name: this.name, kind: this.kind, stack: undefined })
    this.actions = this.anchor.actions
  }

  abstract get kind(): 'confined' | 'shared'

  protected override get label(): string {
    return this.name === undefined ? `the ${this.kind} scope` : `the ${this.kind} scope "${this.name}"`
  }

  /**
   * Runs a function with this scope, and closes the scope when the function has returned or thrown.
   *
   * @returns the function's result.
   * @throws {ArgumentError} if the function returned a promise, which would use the closed scope. See {@link runAsync}.
   * @throws {ScopeClosedError} if the scope is closed, in which case the function is not called.
   * @throws the error of the function or of closing, or an `AggregateError` of both.
   */
  run<Result>(use: (scope: this) => Result): Result {
    this.checkOpen()
    checkFunction(use, 'use')
    let result: Result
    try {
      result = use(this)
      checkPlain(result, 'run', 'runAsync(), which closes the scope when the promise has settled')
    } catch (error) {
      throw closeAfter(this, error)
    }
    this[Symbol.dispose]()
    return result
  }

  /**
   * Runs an asynchronous function with this scope, and closes the scope when the function's promise has settled.
   *
   * @throws the errors of {@link run}
   */
  async runAsync<Result>(use: (scope: this) => PromiseLike<Result>): Promise<Result> {
    this.checkOpen()
    checkFunction(use, 'use')
    let result: Result
    try {
      result = await use(this)
    } catch (error) {
      throw closeAfter(this, error)
    }
    this[Symbol.dispose]()
    return result
  }

  /**
   * Closes the scope as soon as the calls and holds that use it have ended. Until then the scope refuses new allocations,
   * close actions and holds.
   *
   * @throws {ScopeHeldError} if the deadline passes first. The scope is then open again. @throws the error of an action.
   */
  async closeAsync(options?: CloseOptions): Promise<void> {
    const { deadline } = checkOptions(options, ['deadline'])
    const limit = deadline === undefined ? Infinity : checkSize(deadline, 'deadline', 'milliseconds')
    this.checkOpen()
    const closing = drainAndClose(this, performance.now() + limit)
    pending.set(this, closing)
    try {
      await closing
    } finally {
      pending.delete(this)
    }
  }

  /**
   * Closes the scope if it is open or {@link closeAsync} is waiting. A second disposal does nothing.
   *
   * @throws the errors of close(), also while closeAsync() waits.
   */
  override [Symbol.dispose](): void {
    if (this.gate.open) this.close()
    else if (pending.has(this)) this.endWaiting()
  }

  /** Waits if {@link closeAsync} is waiting, and closes the scope if it is open. @throws the errors of closeAsync() */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.whenWaited()
    if (this.gate.open) await this.closeAsync()
  }

  /** @internal Resolves when closeAsync() does not wait any more. Its error belongs to its caller. */
  async whenWaited(): Promise<void> {
    await pending.get(this)?.catch(() => {})
  }

  /** @internal Closes the scope for which closeAsync() waits. @throws {ScopeHeldError} if it is still held. */
  endWaiting(): void {
    if (!this.gate.alive) return
    if (this.isHeld()) throw this.heldError()
    this.gate.open = true
    this.undrain()
    this.close()
  }

  /** @internal Refuses new users while closeAsync() waits. */
  drain(): void {
    this.seal()
  }

  /** @internal Reverts {@link drain} on this thread, so that close() can repeat it. */
  undrain(): void {}

  /** @internal Lets other threads in again, if the scope is still open. */
  endDrain(): void {}

  /** @internal Whether a hold or a call keeps the scope open. */
  isHeld(): boolean {
    const { holds, calls } = usersOf(this.gate)
    return holds + calls > 0
  }

  /** @internal A block for a single segment, freed at close. The caller has checked the numbers. */
  newBlock(byteSize: number, byteAlignment: number, isOfArena: boolean = false): Block {
    this.checkOpen()
    const chunk = this.makeChunk(byteSize, byteAlignment)
    return this.own(new Block(this.gate, chunk.view, chunk.bytes, chunk.address), chunk.size, chunk, isOfArena)
  }

  /** @internal Takes over a block of `size` bytes: checks, detaches and frees it at close. */
  own(block: Block, size: number, upkeep: Upkeep = NONE, isOfArena: boolean = false): Block {
    this.owned ??= []
    this.owned.push({ block, size, upkeep, isOfArena })
    counters.liveBytes += size
    if (this.anchor !== undefined) {
      this.anchor.addBytes(size)
      if (upkeep.free !== undefined) this.anchor.addFree(upkeep.free)
    }
    return block
  }

  /** @internal Forgets a block, which has another owner. */
  disown(owned: OwnedBlock): void {
    const { size, upkeep } = owned
    this.owned!.splice(this.owned!.lastIndexOf(owned), 1)
    counters.liveBytes -= size
    this.anchor?.addBytes(-size)
    if (upkeep.free !== undefined) this.anchor?.forgetFree(upkeep.free)
  }

  /** @internal Memory that the scope does not free has the size 0 here. */
  override adopt(block: Block): void {
    this.own(block, 0)
  }

  /** @internal Allocates memory of the kind that this scope owns. */
  makeChunk(byteSize: number, byteAlignment: number): Chunk & Upkeep {
    if (guardMode) return newGuardedChunk(byteSize, byteAlignment, this.label)
    return newChunk(byteSize, byteAlignment)
  }

  protected override release(): void {
    counters.openScopes--
    noteClose(this)
    this.anchor?.cancel()
    if (this.owned !== undefined) this.releaseOwned(this.owned)
  }

  /** @internal */
  releaseOwned(owned: readonly OwnedBlock[]): void {
    this.owned = undefined
    const errors: unknown[] = []
    for (const { block, size, upkeep } of owned) {
      counters.liveBytes -= size
      if (upkeep.check !== undefined) attempt(upkeep.check, errors)
      // A user who transferred the buffer of a raw view, or forbade it, keeps its memory: a leak is better than a dangling view.
      if (block.exposed && upkeep.retire !== undefined) attempt(upkeep.retire, errors)
      else if (block.exposed && isOwn(upkeep, size)) retire(block.view)
      else if ((!block.hasBuffer || detach(block.view)) && upkeep.free !== undefined) attempt(upkeep.free, errors)
    }
    throwErrors(errors, `${this.label} was damaged`)
  }

  override toString(): string {
    const { open, alive } = this.gate
    return `${this.label.slice('the '.length)}, ${open ? 'open' : alive ? 'closing' : 'closed'}`
  }
}
