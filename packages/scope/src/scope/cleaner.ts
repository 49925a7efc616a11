import { counters } from '../diagnostics/counters.ts'
import { noteLeak, type ScopeEvent } from '../diagnostics/observe.ts'

const anchorOf = Symbol('anchor')

/** What the garbage collector tells about: it can be reached as long as a scope, or any buffer of its memory. */
export class Anchor {
  /** Lets a buffer keep it: a raw view of the memory keeps its scope from being cleaned up. */
  tieTo(buffer: ArrayBufferLike): void {
    ;(buffer as { [anchorOf]?: Anchor })[anchorOf] = this
  }
}

/** What is left of a scope when it is garbage. It must not reach the scope. */
interface Remains {
  readonly actions: (() => void)[]
  /** Of a scope that should have been closed by then: it is a leak. */
  readonly event: ScopeEvent | undefined
  /** Memory that it owned, in bytes. */
  bytes: number
  /** What gives back what JavaScript's collector does not, after the actions. */
  readonly frees: (() => void)[]
}

const registry = new FinalizationRegistry<Remains>(({ actions, event, bytes, frees }) => {
  if (event !== undefined) {
    counters.openScopes--
    counters.liveBytes -= bytes
    noteLeak(event)
  }
  for (const run of [...actions.toReversed(), ...frees]) {
    try {
      run()
    } catch (error) {
      // Nobody called: the error goes where errors go that nobody catches, and the other actions still run.
      queueMicrotask(() => {
        throw error
      })
    }
  }
})

/** Runs close actions when an anchor has become garbage. They must not reach what has the anchor. */
export class Cleaner {
  readonly #anchor: Anchor
  readonly #remains: Remains

  /** @param event of a scope that should have been closed by then. */
  constructor(anchor: Anchor, event?: ScopeEvent) {
    this.#anchor = anchor
    this.#remains = { actions: [], event, bytes: 0, frees: [] }
    registry.register(anchor, this.#remains, this.#remains)
  }

  /** The actions that it runs: more can be added. */
  get actions(): (() => void)[] {
    return this.#remains.actions
  }

  /** Lets a buffer of the scope, of `byteSize` bytes, keep the actions from running. */
  follow(buffer: ArrayBufferLike, byteSize: number): void {
    this.#anchor.tieTo(buffer)
    this.#remains.bytes += byteSize
  }

  /** Runs `free` after the actions; at close somebody else does what it does. */
  addFree(free: () => void): void {
    this.#remains.frees.push(free)
  }

  /** The actions have run. */
  cancel(): void {
    registry.unregister(this.#remains)
  }
}
