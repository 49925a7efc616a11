import type { ProjectFacts } from '../../lib/project.ts'

/** What a package is checked against. */
export interface ReleaseContext {
  readonly project: ProjectFacts
  /** The only platform of the package, such as `linux-x64-gnu`. */
  readonly platform?: string | undefined
  /** The files that a platform package must have below `lib`. */
  readonly libraries: readonly string[]
  /** The oldest glibc on which its libraries must run, by default that of Node.js. */
  readonly oldestGlibc?: string | undefined
}
