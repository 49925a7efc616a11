import type { DescribedCommand } from './usage.ts'

/** The script for bash. Where it suggests no words, bash completes the names of files. */
export function bashCompletion(commands: readonly DescribedCommand[]): string {
  return `# Completes the arguments of tenon in bash. Written by tenon completion bash.
_tenon() {
  local word=\${COMP_WORDS[COMP_CWORD]} words= flags=
  if ((COMP_CWORD == 1)); then
    words='${commands.map(({ meta }) => meta.name).join(' ')}'
    flags='--help --version'
  else
    case "\${COMP_WORDS[1]} \${COMP_WORDS[COMP_CWORD - 1]}" in
${commands.flatMap(casesOf).join('\n')}
    esac
  fi
  if [[ $word == -* ]]; then words=$flags; fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _tenon tenon`
}

/** The completions behind each flag that has a value, and those behind everything else. */
function casesOf({ meta: { name }, args }: DescribedCommand): string[] {
  const entries = Object.entries(args)
  const valued = entries.filter(([, { type }]) => type === 'string' || type === 'enum')
  const flags = entries.filter(([, { type }]) => type !== 'positional').map(([flag]) => `--${flag}`)
  const places = entries.filter(([, { type }]) => type === 'positional')
  const first = places[0]?.[1].options ?? []
  return [
    ...valued.map(([flag, { options = [] }]) => `      '${name} --${flag}') words='${options.join(' ')}' ;;`),
    `      '${name} '*)`,
    `        flags='${flags.join(' ')}'`,
    ...(first.length > 0 ? [`        if ((COMP_CWORD == 2)); then words='${first.join(' ')}'; fi`] : []),
    ...(places.length === 0 ? ['        words=$flags'] : []),
    '        ;;',
  ]
}
