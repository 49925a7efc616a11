/** Prints a message to stderr, because data goes to stdout. */
export function talk(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** Runs a command, or prints its help. Sets the exit code 2 if its options cannot be read, and 1 if it fails. */
export async function runCommand<Options extends { readonly help: boolean }>(
  usage: string,
  parse: () => Options,
  run: (options: Options) => Promise<void>,
): Promise<void> {
  let exitCode = 2
  try {
    const options = parse()
    exitCode = 1
    if (options.help) process.stdout.write(`${usage}\n`)
    else await run(options)
  } catch (error) {
    talk((error as Error).message)
    process.exitCode = exitCode
  }
}
