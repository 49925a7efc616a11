/** Input of the command is wrong: a file, or a name that a library does not have. The program exits with 1. */
export class InputError extends Error {
  override readonly name = 'InputError'
  readonly hint: string | undefined

  constructor(message: string, hint?: string) {
    super(message)
    this.hint = hint
  }
}
