import { didYouMean } from '@tenon/core/internal'
import { stripVTControlCharacters } from 'node:util'
import { renderUsage, type CommandDef } from 'citty'
import { parseArguments } from './arguments.ts'
import { packageVersion } from '../version.ts'
import { ExitCode, reportFailure } from './failure.ts'
import type { SubCommand } from './sub-command.ts'
import { printData } from './terminal.ts'
import { UsageError } from './usage-error.ts'

const subCommands: Readonly<Record<string, () => Promise<SubCommand>>> = {
  inspect: async () => (await import('./inspect-command.ts')).inspectCommand,
  call: async () => (await import('./call-command.ts')).callCommand,
  types: async () => (await import('./types-command.ts')).typesCommand,
  strings: async () => (await import('./strings-command.ts')).stringsCommand,
  doctor: async () => (await import('./doctor-command.ts')).doctorCommand,
}

const program: CommandDef = {
  meta: {
    name: 'tenon',
    version: packageVersion(),
    description: 'Inspect and call libraries of native kernels',
  },
  // citty renders the usage only. Command lines are parsed by parseArguments().
  subCommands: subCommands as unknown as NonNullable<CommandDef['subCommands']>,
}

/**
 * Runs the `tenon` command.
 *
 * @param argv the arguments after the program's name
 * @returns the exit code: 0 success, 1 the input or the installation is not valid, 2 the command line is not valid, 3 the kernel failed
 */
export async function main(argv: readonly string[]): Promise<ExitCode> {
  const [name, ...rest] = argv
  const command = name !== undefined && Object.hasOwn(subCommands, name) ? name : undefined
  try {
    if (command !== undefined) return await runSubCommand(await subCommands[command]!(), rest)
    await runProgram(name)
    return ExitCode.ok
  } catch (error) {
    return reportFailure(error, command === undefined ? 'tenon' : `tenon ${command}`)
  }
}

async function runSubCommand(command: SubCommand, rawArgs: readonly string[]): Promise<ExitCode> {
  const end = rawArgs.indexOf('--')
  const flags = end === -1 ? rawArgs : rawArgs.slice(0, end)
  if (!flags.includes('--help') && !flags.includes('-h')) {
    return command.run(parseArguments(rawArgs, command.args)) ?? ExitCode.ok
  }
  await printUsage(command, program)
  return ExitCode.ok
}

async function runProgram(argument: string | undefined): Promise<void> {
  if (argument === '--version' || argument === '-v') printData(packageVersion())
  else if (argument === '--help' || argument === '-h' || argument === 'help') await printUsage(program)
  else if (argument === undefined)
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

async function printUsage(command: Pick<CommandDef, 'meta' | 'args'>, parent?: CommandDef): Promise<void> {
  const usage = (await renderUsage(command, parent)).replaceAll(/ +$/gm, '')
  printData(process.stdout.isTTY && !process.env['NO_COLOR'] ? usage : stripVTControlCharacters(usage))
}
