import type { Machine, RowResult } from '@tenon/bench'
import type { Absence } from '../arena.ts'
import type { InstallSize } from '../install-size.ts'
import type { Finding } from '../verdict.ts'

/** All that a run has found. */
export interface Proof {
  readonly machine: Machine
  readonly commit: string
  /** In the form of ISO 8601. */
  readonly date: string
  readonly versions: Readonly<Record<string, string>>
  readonly absent: readonly Absence[]
  readonly findings: readonly Finding[]
  readonly results: readonly RowResult[]
  readonly sizes: Readonly<Record<string, InstallSize>>
}
