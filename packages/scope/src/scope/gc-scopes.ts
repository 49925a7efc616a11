import { Hold, type Lifetime } from '@tenon/core'
import { type Block, Gate, inspectAsText, unclosable } from '@tenon/core/internal'
import { checkFunction } from '../check.ts'
import { Anchor } from './anchor.ts'
import { newThreadBlock } from './thread-memory.ts'

/** The base of the two scopes that cannot be closed. The garbage collector owns their memory. */
export abstract class UnclosableScope implements Lifetime {
  // `declare`, because class fields make opening a scope slower.
  /** @internal */
  declare readonly gate: Gate

  constructor() {
    this.gate = new Gate(this)
  }

  abstract get kind(): 'implicit' | 'global'

  get isAlive(): true {
    return true
  }

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
    return this.own(newThreadBlock(this.gate, byteSize, byteAlignment))
  }

  /** @internal Ties the lifetime of the block's memory to this scope. */
  abstract own(block: Block): Block

  static {
    inspectAsText(UnclosableScope)
  }
}

/**
 * A scope that ends when the garbage collector has collected the scope, its segments and all views of their memory. Opened
 * by `ResourceScope.ofImplicit()`, and by allocations without a scope. Close actions run some time after that, or never if the process
 * ends first. The actions must not refer to the scope or its segments.
 *
 * Other threads get its memory by `segment.share()`. It is freed when all threads have collected it; the close actions run when this thread has.
 */
export class ImplicitScope extends UnclosableScope {
  // Made when it is needed: most scopes own one segment, and no actions.
  declare private ownAnchor: Anchor | undefined

  constructor() {
    super()
    this.ownAnchor = undefined
  }

  override get kind(): 'implicit' {
    return 'implicit'
  }

  private get anchor(): Anchor {
    return (this.ownAnchor ??= new Anchor())
  }

  override addCloseAction(action: () => void): void {
    checkFunction(action, 'action')
    this.anchor.actions.push(action)
  }

  override addLastAction(action: () => void): void {
    this.anchor.actions.unshift(action)
  }

  override own(block: Block): Block {
    return block
  }
}

/** The scope that never ends. Its close actions never run. */
export class GlobalScope extends UnclosableScope {
  /** Keeps all memory alive, because native code that stores an address cannot. */
  readonly #blocks: Block[] = []

  override get kind(): 'global' {
    return 'global'
  }

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
