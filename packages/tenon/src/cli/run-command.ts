import { ExitCode, reportFailure, reportLostOutput } from './failure.ts'
import type { SubCommand } from './sub-command.ts'
import { onLostOutput, printData, styleFor } from './terminal.ts'

/** Runs a command with the arguments behind its name. @returns the exit code of the process */
export function runCommand(command: SubCommand, rawArgs: readonly string[]): ExitCode {
  onLostOutput(exitWithoutOutput)
  try {
    const end = rawArgs.indexOf('--')
    const flags = end === -1 ? rawArgs : rawArgs.slice(0, end)
    const invocation = command.start(rawArgs)
    if (!flags.includes('--help') && !flags.includes('-h')) return invocation.run() ?? ExitCode.ok
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
