import { Block, ManagedLifetime } from '@tenon/core/internal'
import type { Hold } from '@tenon/core'
import { counters } from '../diagnostics/counters.ts'
import { detach, newChunk } from './chunk-pool.ts'
import { runIn, runInAsync } from './run.ts'

/** How a scope is opened. */
export interface ScopeOptions {
  /** What messages call it: `the scope "request"`. */
  readonly name?: string
}

/** A scope of the thread that opened it, closed by hand. Made by `ResourceScope.ofConfined()`. */
export class ConfinedScope extends ManagedLifetime {
  // `declare`: see ManagedLifetime.
  /** @internal */
  declare readonly scopeName: string | undefined
  /** @internal blocks that are this scope's alone */
  declare blocks: Block[] | undefined

  /** @internal */
  constructor(name?: string) {
    super()
    this.scopeName = name
    this.blocks = undefined
    counters.openScopes++
  }

  protected override get label(): string {
    return this.scopeName === undefined ? 'the scope' : `the scope "${this.scopeName}"`
  }

  /** What messages call it, if it has a name. */
  get name(): string | undefined {
    return this.scopeName
  }

  /** Keeps it open until the lock is released. @throws {ScopeClosedError} once closing has begun. */
  lock(): Hold {
    return this.acquire()
  }

  /**
   * Runs a function with this scope, and closes it when the function has returned or thrown.
   *
   * @returns what the function returned.
   * @throws {ArgumentError} if it returned a promise, which would use the scope after it is closed: see {@link runAsync}.
   * @throws what the function or closing threw; an `AggregateError` if both did.
   */
  run<Result>(use: (scope: this) => Result): Result {
    return runIn(this, use)
  }

  /** Runs an asynchronous function with this scope, and closes it when its promise has settled. @throws as {@link run} */
  runAsync<Result>(use: (scope: this) => PromiseLike<Result>): Promise<Result> {
    return runInAsync(this, use)
  }

  /** @internal A zeroed block for one segment: its memory goes back to the system at close. Arguments are checked. */
  newBlock(byteSize: number, byteAlignment: number): Block {
    if (this.state !== 'open') this.refuseNew()
    const { view, bytes, address } = newChunk(byteSize, byteAlignment)
    const block = new Block(this.gate, view, bytes, address)
    this.blocks ??= []
    this.blocks.push(block)
    counters.liveBytes += view.byteLength
    return block
  }

  protected override release(): void {
    counters.openScopes--
    if (this.blocks !== undefined) this.releaseBlocks(this.blocks)
  }

  /** @internal */
  releaseBlocks(blocks: readonly Block[]): void {
    for (const block of blocks) {
      counters.liveBytes -= block.view.byteLength
      detach(block)
    }
    this.blocks = undefined
  }

  /** @internal @throws {ScopeClosedError} */
  refuseNew(): never {
    throw this.closedError()
  }
}
