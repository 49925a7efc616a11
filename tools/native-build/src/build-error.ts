/** A failure to tell the user in one message, without a stack trace. */
export class BuildError extends Error {
  override readonly name = 'BuildError'
}

/** Runs a command line's main function: a `BuildError` is printed and makes the exit code 1; any other is a bug. */
export async function runMain(main: () => Promise<void>): Promise<void> {
  try {
    await main()
  } catch (error) {
    if (!(error instanceof BuildError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
  }
}
