import { ExitCode, reportFailure, reportLostOutput } from './failure.ts'
import type { SubCommand } from './sub-command.ts'
import { onLostOutput, printData, styleFor } from './terminal.ts'
import { wantsHelp } from './wants-help.ts'

/** Runs a command with the arguments behind its name. @returns the exit code of the process */
export function runCommand(command: SubCommand, rawArgs: readonly string[]): ExitCode {
  onLostOutput(exitWithoutOutput)
  try {
    const invocation = command.start(rawArgs)
    if (!wantsHelp(rawArgs)) return invocation.run() ?? ExitCode.ok
    printData(invocation.usage(styleFor(process.stdout)))
    return ExitCode.ok
  } catch (error) {
    return reportFailure(error, `tenon ${command.meta.name}`)
  }
}

/** A reader that closes the pipe early (`tenon inspect ... | head`) is not an error. */
export function exitWithoutOutput(error: NodeJS.ErrnoException): void {
  process.exit(error.code === 'EPIPE' ? ExitCode.ok : reportLostOutput(error))
}
