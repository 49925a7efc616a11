import type { ArgumentDefinition } from './definition.ts'
import type { DescribedCommand } from './usage.ts'

/** The script for zsh, which can be run at the start of a shell or be the file `_tenon` of a directory of `fpath`. */
export function zshCompletion(commands: readonly DescribedCommand[]): string {
  const names = commands.map(({ meta }) => `      ${quote(`${escape(meta.name)}:${meta.description}`)}`)
  return `#compdef tenon
# Completes the arguments of tenon in zsh. Written by tenon completion zsh.
_tenon() {
  local -a commands
  if ((CURRENT == 2)); then
    commands=(
${names.join('\n')}
    )
    _describe command commands
    _arguments '--help[print the commands]' '--version[print the version]'
    return
  fi
  shift words
  ((CURRENT--))
  case $words[1] in
${commands.flatMap(casesOf).join('\n')}
  esac
}
if [[ $funcstack[1] == _tenon ]]; then _tenon "$@"; else compdef _tenon tenon; fi`
}

function casesOf({ meta, args }: DescribedCommand): string[] {
  const places = Object.entries(args).filter(([, { type }]) => type === 'positional')
  const flags = Object.entries(args).filter(([, { type }]) => type !== 'positional')
  const specs = [
    ...places.map(([name, place], i) => `${i + 1}:${name}:${valuesOf(place)}`),
    ...flags.map(([name, flag]) => flagSpec(name, flag)),
  ]
  return [`    ${meta.name})`, `      _arguments ${specs.map(quote).join(' \\\n        ')}`, '      ;;']
}

/** The specification of a flag for `_arguments`. That of a repeatable flag begins with a star. */
function flagSpec(name: string, flag: ArgumentDefinition): string {
  const { type, description = '', valueHint = name, repeatable = false } = flag
  const start = `${repeatable ? '*' : ''}--${name}`
  if (type === 'boolean') return `${start}[${escape(description)}]`
  return `${start}=[${escape(description)}]:${escape(valueHint)}:${valuesOf(flag)}`
}

const valuesOf = ({ options }: ArgumentDefinition): string =>
  options === undefined ? '_files' : `(${options.join(' ')})`

/** A part of a specification, in which colons and brackets have a meaning. */
const escape = (text: string): string => text.replaceAll(/[\\:[\]]/g, '\\$&')

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
