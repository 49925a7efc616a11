import { didYouMean } from '@tenon/core/internal'
import { packageVersion } from '../version.ts'
import { ExitCode, reportFailure } from './failure.ts'
import { exitWithoutOutput, runCommand } from './run-command.ts'
import type { SubCommand } from './sub-command.ts'
import { onLostOutput, printData, styleFor } from './terminal.ts'
import { programUsage } from './usage.ts'
import { UsageError } from './usage-error.ts'

const subCommands: Readonly<Record<string, () => Promise<SubCommand>>> = {
  inspect: async () => (await import('./inspect-command.ts')).inspectCommand,
  call: async () => (await import('./call-isolated.ts')).callAnywhereCommand,
  bench: async () => (await import('./bench-command.ts')).benchCommand,
  bind: async () => (await import('./bind-command.ts')).bindCommand,
  types: async () => (await import('./types-command.ts')).typesCommand,
  new: async () => (await import('./new-command.ts')).newCommand,
  build: async () => (await import('./build-command.ts')).buildCommand,
  test: async () => (await import('./test-command.ts')).testCommand,
  pack: async () => (await import('./pack-command.ts')).packCommand,
  publish: async () => (await import('./publish-command.ts')).publishCommand,
  cache: async () => (await import('./cache-command.ts')).cacheCommand,
  serve: async () => (await import('./serve-command.ts')).serveCommand,
  include: async () => (await import('./include-command.ts')).includeCommand,
  strings: async () => (await import('./strings-command.ts')).stringsCommand,
  report: async () => (await import('./report-command.ts')).reportCommand,
  explain: async () => (await import('./explain-command.ts')).explainCommand,
  doctor: async () => (await import('./doctor-command.ts')).doctorCommand,
  completion: async () => (await import('./completion-command.ts')).makeCompletionCommand(loadAll),
  man: async () => (await import('./man-command.ts')).makeManCommand(loadAll),
}

const loadAll = (): Promise<SubCommand[]> => Promise.all(Object.values(subCommands).map((load) => load()))

/**
 * Runs the `tenon` command.
 *
 * @param argv the arguments after the program's name
 * @returns the exit code: 0 success, 1 the input or the installation is not valid, 2 the command line is not valid, 3 the kernel failed,
 * and of `tenon serve` 4 not drained and 130 interrupted
 */
export async function main([name, ...rest]: readonly string[]): Promise<ExitCode> {
  try {
    if (name === 'help' && rest[0] !== undefined)
      return await main(isCommand(rest[0]) ? [rest[0], '--help'] : [rest[0]])
    if (name !== undefined && isCommand(name)) return runCommand(await subCommands[name]!(), rest)
    onLostOutput(exitWithoutOutput)
    await runProgram(name)
    return ExitCode.ok
  } catch (error) {
    return reportFailure(error, 'tenon')
  }
}

const isCommand = (name: string): boolean => Object.hasOwn(subCommands, name)

async function runProgram(argument: string | undefined): Promise<void> {
  if (argument === '--version' || argument === '-v') printData(packageVersion())
  else if (argument === '--help' || argument === '-h' || argument === 'help') {
    printData(programUsage(packageVersion(), await loadAll(), styleFor(process.stdout)))
  } else if (argument === undefined)
    throw new UsageError(
      'the command is missing',
      `Run tenon ${Object.keys(subCommands).join(', tenon ')} or tenon --help.`,
    )
  else {
    const kind = argument.startsWith('-') ? 'flag' : 'command'
    const known = kind === 'flag' ? ['--help', '--version'] : Object.keys(subCommands)
    throw new UsageError(
      `there is no ${kind} ${argument}`,
      didYouMean(argument, known) ?? 'Run tenon --help for the list.',
    )
  }
}
