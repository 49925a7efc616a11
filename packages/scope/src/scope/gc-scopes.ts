import { Hold, ScopeClosedError, type Lifetime, ArgumentError } from '@tenon/core'
import { Block, describe, Gate } from '@tenon/core/internal'
import { newChunk } from './chunk.ts'
import { Anchor, Cleaner } from './cleaner.ts'

/** What the two scopes have in common that nobody closes: their memory is the garbage collector's. */
abstract class UnclosableScope implements Lifetime {
  /** @internal */
  readonly gate: Gate = new Gate(this)

  readonly isAlive = true

  checkAlive(): void {}

  checkOpen(): void {}

  acquire(): Hold {
    return new Hold(this.gate)
  }

  /** Keeps the scope reachable until the lock is released. */
  lock(): Hold {
    return this.acquire()
  }

  abstract addCloseAction(action: () => void): void

  /** @throws {ScopeClosedError} always: nobody closes it. */
  close(): never {
    throw new ScopeClosedError('this scope is never closed by hand: its memory is freed when it is garbage', {
      hint: 'open a scope of your own with ResourceScope.ofConfined().',
    })
  }

  /** @internal */
  newBlock(byteSize: number, byteAlignment: number): Block {
    const { view, bytes, address } = newChunk(byteSize, byteAlignment)
    return this.own(new Block(this.gate, view, bytes, address))
  }

  /** @internal */
  abstract own(block: Block): Block
}

/**
 * A scope that ends when it, its segments and all views of their memory are garbage. Made by
 * `ResourceScope.ofImplicit()`.
 * Close actions run some time after that, or never if the process ends first. They must not reach the scope or its
 * segments.
 */
export class ImplicitScope extends UnclosableScope {
  readonly #anchor = new Anchor()
  #cleaner: Cleaner | undefined

  override addCloseAction(action: () => void): void {
    checkAction(action)
    this.#cleaner ??= new Cleaner(this.#anchor)
    this.#cleaner.actions.push(action)
  }

  override own(block: Block): Block {
    this.#anchor.tieTo(block.view.buffer)
    return block
  }
}

/** The scope that never ends. Its close actions never run. */
export class GlobalScope extends UnclosableScope {
  /** Nothing else may keep it: native code that has the address can't. */
  readonly #blocks: Block[] = []

  override addCloseAction(action: () => void): void {
    checkAction(action)
  }

  override own(block: Block): Block {
    this.#blocks.push(block)
    return block
  }
}

/** The one of this thread. */
export const globalScope: GlobalScope = new GlobalScope()

function checkAction(action: unknown): void {
  if (typeof action !== 'function') throw new ArgumentError(`action must be a function, got ${describe(action)}`)
}
