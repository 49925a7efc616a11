/** A check of `pnpm check`. */
export interface Check {
  /** The name in the table. */
  readonly name: string
  /** Runs the check. */
  run(): Promise<CheckResult>
}

/** The result of a check. */
export interface CheckResult {
  /** A paragraph for each problem; empty if the check passes. */
  readonly problems: readonly string[]
  /** A figure for the table. */
  readonly note?: string
}
