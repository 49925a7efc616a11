/** The command line is wrong: its text, or flags that are missing or contradict each other. The program exits with 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly hint: string | undefined

  constructor(message: string, hint?: string) {
    super(message)
    this.hint = hint
  }
}
