export interface Check {
  readonly name: string
  run(): Promise<CheckResult>
}

export interface CheckResult {
  /** A paragraph for each problem; empty if the check passes. */
  readonly problems: readonly string[]
  readonly note?: string
}
