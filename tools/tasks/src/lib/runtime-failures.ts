import type { TestedRuntime } from '@tenon/config/runtimes'

import { failureGroups } from './runtime-failure-groups.ts'

/** A test that fails, or several whose names begin with the title. */
export interface RuntimeFailure {
  readonly title: string
  readonly isRare: boolean
}

/** Returns the tests of a package that fail in a runtime. */
export const knownIn = (runtime: TestedRuntime, name: string): RuntimeFailure[] =>
  failureGroups
    .filter(({ runtimes }) => runtimes.includes(runtime))
    .flatMap(({ isRare = false, tests }) => (tests[name] ?? []).map((title) => ({ title, isRare })))
