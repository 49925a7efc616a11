import { openScopes, trackOrigins, type ScopeEvent } from '../diagnostics/observe.ts'
import { counters } from '../diagnostics/counters.ts'
import { TenonError } from '@tenon/core'

/** What was opened since {@link trackLeaks} and is still open. */
export interface Leaks {
  /** Each scope with the stack of where it was opened. */
  readonly scopes: readonly ScopeEvent[]
  /** Stubs that native code can still call. */
  readonly stubs: number
}

/**
 * Remembers where scopes are opened from now on.
 *
 * @returns a function that ends it and says what is still open.
 */
export function trackLeaks(): () => Leaks {
  const before = new Set(openScopes().map(({ id }) => id))
  const stubsBefore = counters.liveStubs
  const stop = trackOrigins()
  return () => {
    const scopes = openScopes().filter(({ id }) => !before.has(id))
    stop()
    // A test may also close what was there before.
    return { scopes, stubs: Math.max(counters.liveStubs - stubsBefore, 0) }
  }
}

/** The part of a test runner that is needed: vitest's, and those of the same shape. */
export interface TestHooks {
  readonly beforeEach: (run: () => void) => unknown
  readonly afterEach: (run: () => void) => unknown
}

/**
 * Lets every test of the file (or of the `describe` it stands in) fail that leaves a scope open.
 *
 * @example
 * import { expectNoLeaks } from '@tenon/scope/testing'
 * import { afterEach, beforeEach } from 'vitest'
 * expectNoLeaks({ beforeEach, afterEach })
 */
export function expectNoLeaks({ beforeEach, afterEach }: TestHooks): void {
  let finish: (() => Leaks) | undefined
  beforeEach(() => {
    finish = trackLeaks()
  })
  afterEach(() => {
    const leaks = finish?.()
    finish = undefined
    if (leaks === undefined || (leaks.scopes.length === 0 && leaks.stubs === 0)) return
    const lines = leaks.scopes.map(
      ({ kind, name, stack }) => `a ${kind} scope ${name ?? 'without a name'}, opened\n${stack}`,
    )
    throw new TenonError(
      'TENON_SCOPE_LEAKED',
      `the test left ${leaks.scopes.length} scopes and ${leaks.stubs} stubs open:\n${lines.join('\n')}`,
      {
        hint: 'close them in the test, also when it fails: with using, or run().',
      },
    )
  })
}
