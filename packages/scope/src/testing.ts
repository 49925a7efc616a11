import { TenonError } from '@tenon/core'
import { counters } from './diagnostics/stats.ts'
import { openScopes, trackOrigins, type ScopeEvent } from './diagnostics/observe.ts'

/** The resources that were opened since {@link trackLeaks} and are still open. */
export interface Leaks {
  /** The scopes, each with the stack trace of the call that opened it. */
  readonly scopes: readonly ScopeEvent[]
  /** The number of stubs that native code can still call. */
  readonly stubs: number
}

/**
 * Records where scopes are opened from now on.
 *
 * @returns a function that ends the recording and returns the resources that are still open.
 */
export function trackLeaks(): () => Leaks {
  const before = new Set(openScopes().map(({ id }) => id))
  const stubsBefore = counters.liveStubs
  const stop = trackOrigins()
  return () => {
    const scopes = openScopes().filter(({ id }) => !before.has(id))
    stop()
    // A test may also close stubs that existed before it.
    return { scopes, stubs: Math.max(counters.liveStubs - stubsBefore, 0) }
  }
}

/** The hooks of vitest, or of a test runner with the same signatures. */
export interface TestHooks {
  readonly beforeEach: (run: () => void) => unknown
  readonly afterEach: (run: () => void) => unknown
}

/**
 * Fails every test in the file, or in the surrounding `describe`, that leaves a scope or a stub open.
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
      { hint: 'Close them in the test, also when it fails: declare them with using, or use run().' },
    )
  })
}
