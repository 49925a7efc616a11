import { Cleaner } from '@tenon/core/internal'
import { counters } from '../diagnostics/stats.ts'
import { noteLeak, type ScopeEvent } from '../diagnostics/observe.ts'
import { attempt, throwErrors } from './run.ts'

/** The work that a collected scope leaves behind. It must not reach the scope or its buffers, or they would stay alive. */
interface Remains {
  readonly actions: (() => void)[]
  /** Describes a scope that should have been closed, so that collecting it is a leak. */
  readonly leak: ScopeEvent | undefined
  /** The memory that the scope owned, in bytes. */
  bytes: number
  /** Functions that free memory outside of JavaScript, after the actions. */
  readonly frees: (() => void)[]
}

const cleaner = new Cleaner<Remains>(({ actions, leak, bytes, frees }) => {
  if (leak !== undefined) {
    counters.openScopes--
    counters.liveBytes -= bytes
    noteLeak(leak)
  }
  const errors: unknown[] = []
  for (const run of [...actions.toReversed(), ...frees]) attempt(run, errors)
  throwErrors(errors, 'close actions of a collected scope threw')
})

/**
 * An object of a scope that is reachable as long as the scope or any raw view of its memory is, because the gate of the scope is
 * reachable from the buffer of each raw view. When the garbage collector takes it, the actions of the scope run.
 */
export class Anchor {
  #remains: Remains | undefined

  /** @param leak describes a scope that should be closed before it is collected. */
  constructor(leak?: ScopeEvent) {
    if (leak !== undefined) this.#watch(leak)
  }

  #watch(leak?: ScopeEvent): Remains {
    if (this.#remains === undefined) {
      this.#remains = { actions: [], leak, bytes: 0, frees: [] }
      cleaner.watch(this, this.#remains, this.#remains)
    }
    return this.#remains
  }

  get actions(): (() => void)[] {
    return this.#watch().actions
  }

  /** Counts memory that the scope owns, in bytes. */
  addBytes(byteSize: number): void {
    if (this.#remains !== undefined) this.#remains.bytes += byteSize
  }

  /** Runs `free` after the actions, unless the scope is closed first, which frees the memory in its own way. */
  addFree(free: () => void): void {
    this.#watch().frees.push(free)
  }

  /** Leaves memory that has another owner alone. */
  forgetFree(free: () => void): void {
    const frees = this.#remains?.frees ?? []
    const index = frees.indexOf(free)
    if (index !== -1) frees.splice(index, 1)
  }

  /** Forgets the actions, because the scope was closed. */
  cancel(): void {
    if (this.#remains !== undefined) cleaner.forget(this.#remains)
  }
}
