/** One thing that `pnpm check` makes sure of. */
export interface Check {
  /** A word or two for the table. */
  readonly name: string
  /** Finds what is wrong, a paragraph each; nothing if all is well. */
  run(): Promise<CheckResult>
}

/** What a check found. */
export interface CheckResult {
  readonly problems: readonly string[]
  /** A figure for the table, when there is one. */
  readonly note?: string
}
