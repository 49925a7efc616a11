/** A failure that is reported to the user in one message, without a stack trace. */
export class ToolError extends Error {
  override readonly name = 'ToolError'
}

/** Runs the main function of a command. A `ToolError` is printed and sets the exit code 1. Other errors are defects. */
export async function runMain(main: () => Promise<void>): Promise<void> {
  try {
    await main()
  } catch (error) {
    if (!(error instanceof ToolError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
  }
}
