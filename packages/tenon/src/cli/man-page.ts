import type { ExitCode } from './failure.ts'
import { commandLine, flagRows, placeRows, type DescribedCommand } from './usage.ts'

/** The meanings of the exit codes. */
const exits: Readonly<Record<ExitCode, string>> = {
  0: 'success',
  1: 'the input is wrong: a file, a type, a symbol, or an argument that the kernel refuses',
  2: 'the command line is wrong',
  3: 'the kernel failed, threw an exception or, with --isolate, ended its process',
  4: 'tenon serve left requests unanswered at the end of --drain-timeout',
  130: 'a second signal ended tenon serve at once',
}

const variables: Readonly<Record<string, string>> = {
  NO_COLOR: 'if it is set, the output has no colours',
  TENON_DEBUG: 'with stack, a failure prints the stack trace',
  NODE_DISABLE_COMPILE_CACHE: 'with 1, the compiled JavaScript of the command is not kept',
}

/** The manual page in the macros of man(7). */
export function manPage(version: string, commands: readonly DescribedCommand[]): string {
  return [
    `.TH TENON 1 "" "tenon ${roff(version)}"`,
    '.SH NAME',
    'tenon \\- inspect and call libraries of native kernels',
    '.SH SYNOPSIS',
    '.B tenon',
    '.I command',
    '[arguments]',
    '.SH DESCRIPTION',
    'The command prints data to stdout and messages to stderr. It uses colour only on a terminal.',
    '.SH COMMANDS',
    ...commands.flatMap((command) => [
      `.SS "${roff(commandLine(command))}"`,
      `${roff(command.meta.description)}.`,
      ...listed([...placeRows(command.args), ...flagRows(command.args)]),
    ]),
    '.SH EXIT STATUS',
    ...listed(Object.entries(exits)),
    '.SH ENVIRONMENT',
    ...listed(Object.entries(variables)),
  ].join('\n')
}

const listed = (rows: readonly (readonly [term: string, description: string])[]): string[] =>
  rows.flatMap(([term, description]) => ['.TP', `.B "${roff(term)}"`, roff(description)])

/** Text in which no character has a meaning for roff. A line must not be empty, nor begin with a dot. */
const roff = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('"', '\\(dq')
    .replace(/^(?=\.|$)/, '\\&')
