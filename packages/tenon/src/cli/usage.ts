import type { Definition } from './definition.ts'
import { alignColumns, type Style } from './terminal.ts'

interface CommandMeta {
  readonly name: string
  readonly description: string
}

/** The text of `tenon <command> --help`. */
export function commandUsage(meta: CommandMeta, args: Definition, style: Style): string {
  const positionals = Object.entries(args).filter(([, { type }]) => type === 'positional')
  const places = positionals.map(([name]) => `<${name}>`)
  return [
    `${meta.description}.`,
    '',
    `${style.strong('usage')}  tenon ${[meta.name, ...places, '[flags]'].join(' ')}`,
    '',
    ...alignColumns(
      positionals.map(([name, { description = '' }]) => [`<${name}>`, description]),
      '  ',
    ),
    '',
    style.strong('flags'),
    ...flagLines(args),
  ].join('\n')
}

/** The flags of a command, one for each line. */
export function flagLines(args: Definition): string[] {
  const flags = Object.entries(args).filter(([, { type }]) => type !== 'positional')
  const rows = flags.map(([name, { valueHint, options, description = '' }]) => {
    const value = valueHint ?? (options === undefined ? undefined : 'value')
    const notes = [description, ...(options === undefined ? [] : [options.join(', ')])].join(': ')
    return [value === undefined ? `--${name}` : `--${name} ${value}`, notes]
  })
  return alignColumns(rows, '  ')
}

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
