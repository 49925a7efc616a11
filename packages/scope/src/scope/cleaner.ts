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
  readonly event: ScopeEvent | undefined
}

const registry = new FinalizationRegistry<Remains>(({ actions, event }) => {
  if (event !== undefined) {
    counters.openScopes--
    noteLeak(event)
  }
  for (let i = actions.length - 1; i >= 0; i--) {
    try {
      actions[i]!()
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
  readonly actions: (() => void)[] = []
  readonly anchor: Anchor

  /** @param event of a scope that should have been closed by then: it is a leak. */
  constructor(anchor: Anchor, event?: ScopeEvent) {
    this.anchor = anchor
    registry.register(anchor, { actions: this.actions, event }, this.actions)
  }

  /** The actions have run. */
  cancel(): void {
    registry.unregister(this.actions)
  }
}
