import type { Lifetime } from '@tenon/core'
import { ConfinedScope, type ScopeOptions } from './confined-scope.ts'

/**
 * Owns memory, libraries, stubs and whatever close actions free, until it is closed.
 *
 * @example
 * const scope = ResourceScope.ofConfined()
 * scope.addCloseAction(() => console.log('closed'))
 * scope.close()
 */
export type ResourceScope = Lifetime

export const ResourceScope = {
  /** A scope of this thread, closed by hand. */
  ofConfined(options: ScopeOptions = {}): ConfinedScope {
    return new ConfinedScope(options.name)
  },
}
