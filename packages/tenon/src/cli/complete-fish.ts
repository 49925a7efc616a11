import type { ArgumentDefinition } from './definition.ts'
import type { DescribedCommand } from './usage.ts'

/** The script for fish, which completes the names of files where nothing else is known. */
export function fishCompletion(commands: readonly DescribedCommand[]): string {
  return [
    '# Completes the arguments of tenon in fish. Written by tenon completion fish.',
    'function __tenon_words',
    '    test (count (commandline -opc)) -eq $argv[1]',
    'end',
    'function __tenon_command',
    '    set -l words (commandline -opc)',
    '    test (count $words) -gt 1; and test $words[2] = $argv[1]',
    'end',
    completion('__tenon_words 1', '-f'),
    completion('__tenon_words 1', '-l help', 'print the commands'),
    completion('__tenon_words 1', '-l version', 'print the version'),
    ...commands.flatMap(({ meta, args }) => [
      completion('__tenon_words 1', `-a ${meta.name}`, meta.description),
      ...linesOf(meta.name, Object.entries(args)),
    ]),
  ].join('\n')
}

function linesOf(command: string, entries: readonly [name: string, argument: ArgumentDefinition][]): string[] {
  const condition = `__tenon_command ${command}`
  const places = entries.filter(([, { type }]) => type === 'positional')
  return [
    ...(places.length === 0 ? [completion(condition, '-f')] : []),
    ...places.flatMap(([, { options }], i) =>
      options === undefined
        ? []
        : [completion(`${condition}; and __tenon_words ${i + 2}`, `-f -a ${quote(options.join(' '))}`)],
    ),
    ...entries
      .filter(([, { type }]) => type !== 'positional')
      .map(([name, flag]) => completion(condition, `-l ${name}${valueOf(flag)}`, flag.description)),
  ]
}

/** Whether a flag has a value, and which. */
function valueOf({ type, options }: ArgumentDefinition): string {
  if (type === 'boolean') return ''
  return options === undefined ? ' -r' : ` -x -a ${quote(options.join(' '))}`
}

const completion = (condition: string, what: string, description?: string): string =>
  [
    `complete -c tenon -n ${quote(condition)} ${what}`,
    ...(description === undefined ? [] : [`-d ${quote(description)}`]),
  ].join(' ')

const quote = (text: string): string => `'${text.replaceAll(/[\\']/g, '\\$&')}'`
