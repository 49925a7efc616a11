import type { Definition } from './definition.ts'
import { alignColumns, type Style } from './terminal.ts'

interface CommandMeta {
  readonly name: string
  readonly description: string
}

/** The name of a command, what it does, and its arguments, from which the help, the manual page and the completion are made. */
export interface DescribedCommand {
  readonly meta: CommandMeta
  readonly args: Definition
}

/** The text of `tenon <command> --help`. */
export function commandUsage(meta: CommandMeta, args: Definition, style: Style): string {
  return [
    `${meta.description}.`,
    '',
    `${style.strong('usage')}  ${commandLine({ meta, args })}`,
    '',
    ...alignColumns(placeRows(args), '  '),
    '',
    style.strong('flags'),
    ...flagLines(args),
  ].join('\n')
}

/** A command with its places: `tenon call <library> <symbol> [flags]`. */
export const commandLine = ({ meta, args }: DescribedCommand): string =>
  ['tenon', meta.name, ...placeRows(args).map(([place]) => place), '[flags]'].join(' ')

/** The positional arguments of a command, each with its description. */
export const placeRows = (args: Definition): [place: string, description: string][] =>
  Object.entries(args)
    .filter(([, { type }]) => type === 'positional')
    .map(([name, { description = '' }]) => [`<${name}>`, description])

/** The flags of a command, each with its description. */
export const flagRows = (args: Definition): [flag: string, description: string][] =>
  Object.entries(args)
    .filter(([, { type }]) => type !== 'positional')
    .map(([name, { valueHint, options, description = '' }]) => {
      const value = valueHint ?? (options === undefined ? undefined : 'value')
      const notes = [description, ...(options === undefined ? [] : [options.join(', ')])].join(': ')
      return [value === undefined ? `--${name}` : `--${name} ${value}`, notes]
    })

/** The flags of a command, one for each line. */
export const flagLines = (args: Definition): string[] => alignColumns(flagRows(args), '  ')

/** The text of `tenon --help`. */
export function programUsage(
  version: string,
  commands: readonly { readonly meta: CommandMeta }[],
  style: Style,
): string {
  return [
    `Inspect and call libraries of native kernels (tenon ${version}).`,
    '',
    `${style.strong('usage')}  tenon <command> [arguments]`,
    '',
    ...alignColumns(
      commands.map(({ meta }) => [meta.name, meta.description]),
      '  ',
    ),
    '',
    'Run tenon <command> --help, or tenon help <command>, for the arguments of a command.',
  ].join('\n')
}
