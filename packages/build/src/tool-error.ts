/** A failure to tell the user in one message, without a stack trace. */
export class ToolError extends Error {
  override readonly name = 'ToolError'
}

/** Runs a command line's main function: a `ToolError` is printed and makes the exit code 1; any other is a bug. */
export async function runMain(main: () => Promise<void>): Promise<void> {
  try {
    await main()
  } catch (error) {
    if (!(error instanceof ToolError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
  }
}
