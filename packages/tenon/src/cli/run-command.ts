import { ExitCode, reportFailure, reportLostOutput } from './failure.ts'
import type { SubCommand } from './sub-command.ts'
import { onLostOutput, printData, styleFor } from './terminal.ts'
import { wantsHelp } from './wants-help.ts'

/**
 * Runs a command with the arguments behind its name. A process must start fast, so only commands that wait for something return
 * a promise.
 *
 * @returns the exit code of the process
 */
export function runCommand(command: SubCommand, rawArgs: readonly string[]): ExitCode | Promise<ExitCode> {
  onLostOutput(exitWithoutOutput)
  const report = (error: unknown): ExitCode => reportFailure(error, `tenon ${command.meta.name}`)
  try {
    const invocation = command.start(rawArgs)
    if (!wantsHelp(rawArgs)) {
      const code = invocation.run()
      return code instanceof Promise ? code.then((late) => late ?? ExitCode.ok, report) : (code ?? ExitCode.ok)
    }
    printData(invocation.usage(styleFor(process.stdout)))
    return ExitCode.ok
  } catch (error) {
    return report(error)
  }
}

/** A reader that closes the pipe early (`tenon inspect ... | head`) is not an error. */
export function exitWithoutOutput(error: NodeJS.ErrnoException): void {
  process.exit(error.code === 'EPIPE' ? ExitCode.ok : reportLostOutput(error))
}
