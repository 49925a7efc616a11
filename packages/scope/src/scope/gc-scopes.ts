import { Hold, type Lifetime } from '@tenon/core'
import { Block, Gate, guardMode, inspectAsText, newGuardedMemory, unclosable } from '@tenon/core/internal'
import { checkFunction } from '../check.ts'
import { Anchor } from './anchor.ts'
import { type Chunk, chunkIn, newChunk } from './chunk.ts'

/** The base of the two scopes that cannot be closed. The garbage collector owns their memory. */
abstract class UnclosableScope implements Lifetime {
  /** @internal */
  readonly gate: Gate = new Gate(this)

  abstract readonly kind: 'implicit' | 'global'

  readonly isAlive = true

  checkAlive(): void {}

  checkOpen(): void {}

  /** Keeps the scope reachable until the hold is released. */
  acquire(): Hold {
    return new Hold(this.gate)
  }

  abstract addCloseAction(action: () => void): void

  /** @internal Runs an action after all close actions. */
  abstract addLastAction(action: () => void): void

  /** Always throws, because these scopes cannot be closed. @throws {ScopeClosedError} */
  close(): never {
    throw unclosable(`the ${this}`)
  }

  toString(): string {
    return `${this.kind} scope`
  }

  /** @internal */
  newBlock(byteSize: number, byteAlignment: number): Block {
    const { view, bytes, address } = this.newChunk(byteSize, byteAlignment)
    return this.own(new Block(this.gate, view, bytes, address))
  }

  /** @internal */
  newChunk(byteSize: number, byteAlignment: number): Chunk {
    const guarded = guardMode ? newGuardedMemory(byteSize, byteAlignment, `the ${this}`, true) : undefined
    if (guarded === undefined) return newChunk(byteSize, byteAlignment)
    return chunkIn(guarded.buffer, 0, Math.max(byteSize, 1), guarded.address)
  }

  /** @internal Ties the lifetime of the block's memory to this scope. */
  abstract own(block: Block): Block

  static {
    inspectAsText(UnclosableScope)
  }
}

/**
 * A scope that ends when the garbage collector has collected the scope, its segments and all views of their memory. Opened
 * by `ResourceScope.ofImplicit()`. Close actions run some time after that, or never if the process ends first. The actions
 * must not refer to the scope or its segments.
 */
export class ImplicitScope extends UnclosableScope {
  readonly kind = 'implicit'
  readonly #anchor = new Anchor()

  override addCloseAction(action: () => void): void {
    checkFunction(action, 'action')
    this.#anchor.actions.push(action)
  }

  override addLastAction(action: () => void): void {
    this.#anchor.actions.unshift(action)
  }

  override own(block: Block): Block {
    return block
  }
}

/** The scope that never ends. Its close actions never run. */
export class GlobalScope extends UnclosableScope {
  readonly kind = 'global'
  /** Keeps all memory alive, because native code that stores an address cannot. */
  readonly #blocks: Block[] = []

  override addCloseAction(action: () => void): void {
    checkFunction(action, 'action')
  }

  override addLastAction(): void {}

  override own(block: Block): Block {
    this.#blocks.push(block)
    return block
  }
}

/** The global scope of this thread. */
export const globalScope: GlobalScope = new GlobalScope()
