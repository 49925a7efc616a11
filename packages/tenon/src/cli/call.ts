import { callCommand } from './call-command.ts'
import type { ExitCode } from './failure.ts'
import { runCommand } from './run-command.ts'

/** Runs `tenon call` in this process. The build bundles this file with all that it needs. */
export const runCall = (args: readonly string[]): ExitCode => runCommand(callCommand, args) as ExitCode
