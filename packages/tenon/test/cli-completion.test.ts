import { execFileSync, spawnSync } from 'node:child_process'
import { expect, describe, test } from 'vitest'
import { runTenon } from './run-tenon.ts'
import { runTenonHere } from './run-tenon-here.ts'

const scriptFor = (shell: string): string => runTenon(['completion', shell]).stdout
const bash = scriptFor('bash')

// Shells that are missing have no tests: a run that skips tests does not pass. The workflow installs them all.
const has = (program: string): boolean => spawnSync(program, ['--version']).error === undefined

/** The names of all commands, as `tenon --help` lists them. */
const commands = runTenon(['--help'])
  .stdout.split('\n')
  .flatMap((line) => /^ {2}([a-z]+) /.exec(line)?.[1] ?? [])

/** The flags that `tenon <command> --help` lists, by the command. */
const flags = new Map<string, readonly string[]>()
for (const command of commands) {
  const { stdout } = await runTenonHere([command, '--help'], import.meta.dirname)
  flags.set(
    command,
    stdout.split('\n').flatMap((line) => /^ {2}(--[a-z-]+)/.exec(line)?.[1] ?? []),
  )
}
const flagsOf = (command: string): readonly string[] => flags.get(command)!

/** The words that bash suggests for the last one. */
function completed(...words: string[]): string[] {
  const call = `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tenon; printf '%s\\n' "\${COMPREPLY[@]}"`
  return execFileSync('bash', ['--norc', '-c', `${bash}\n${call}`, 'bash', 'tenon', ...words], { encoding: 'utf8' })
    .split('\n')
    .filter((word) => word !== '')
}

describe('the script for bash', () => {
  test('completes every command, and every flag of each', { timeout: 60_000 }, () => {
    expect(commands).toContain('inspect')
    expect(completed('')).toEqual([...commands, 'help'])
    for (const command of commands) expect(completed(command, '--'), command).toEqual([...flagsOf(command), '--help'])
  })

  test('completes values of flags, words of commands, and the beginnings of words', () => {
    expect(completed('ins')).toEqual(['inspect'])
    expect(completed('--v')).toEqual(['--version'])
    expect(completed('call', 'k.so', 'f', '--abi', 'host-')).toEqual(['host-status', 'host-unified'])
    expect(completed('strings', 'dump', 'x', '--from', 'rfc')).toEqual(['rfc16', 'rfc24'])
    expect(completed('cache', '')).toEqual(['clear'])
    expect(completed('completion', '')).toEqual(['bash', 'zsh', 'fish'])
    expect(completed('help', 'do')).toEqual(['doctor'])
    expect(completed('doctor', '')).toEqual(['--cuda-driver', '--json', '--help'])
  })

  test('leaves places and values that are files to the shell', () => {
    expect(completed('call', '')).toEqual([])
    expect(completed('call', 'k.so', 'f', '--arg', '')).toEqual([])
    expect(completed('strings', 'dump', '')).toEqual([])
    expect(bash).toMatch(/^complete -o default -F _tenon tenon$/m)
  })
})

test.each(['zsh', 'fish'])(
  'the script for %s has every command and every flag of each',
  { timeout: 60_000 },
  (shell) => {
    const script = scriptFor(shell)
    for (const command of commands) {
      const own =
        shell === 'zsh'
          ? new RegExp(`^ {4}${command}\\)\\n.*?;;$`, 'ms').exec(script)![0]
          : script
              .split('\n')
              .filter((line) => line.includes(`'__tenon_command ${command}'`))
              .join('\n')
      for (const flag of [...flagsOf(command), '--help'])
        expect(own, `${command} ${flag}`).toMatch(shell === 'zsh' ? new RegExp(`${flag}[=[]`) : ` -l ${flag.slice(2)} `)
    }
  },
)

if (has('fish'))
  test('fish completes commands, flags and values with the script', () => {
    const complete = (line: string): string[] =>
      execFileSync('fish', ['--no-config', '-c', `${scriptFor('fish')}\ncomplete -C ${JSON.stringify(line)}`], {
        encoding: 'utf8',
      })
        .split('\n')
        .flatMap((text) => text.split('\t')[0] || [])
    expect(complete('tenon ').toSorted()).toEqual([...commands, 'help'].toSorted())
    expect(complete('tenon doctor --').toSorted()).toEqual(['--cuda-driver', '--help', '--json'])
    expect(complete('tenon call k.so f --abi host-')).toEqual(['host-status', 'host-unified'])
    expect(complete('tenon strings ')).toEqual(['convert', 'dump'])
  })

if (has('zsh'))
  test('zsh reads the script, which passes each flag with its description to _arguments', () => {
    const stubs = `compdef() { :; }; _arguments() { printf '%s\\n' "$@"; }; _describe() { printf '%s\\n' $commands; }`
    const call = (...words: string[]): string[] =>
      execFileSync(
        'zsh',
        ['-f', '-c', `${stubs}\n${scriptFor('zsh')}\nwords=("$@"); CURRENT=$#; _tenon`, 'zsh', 'tenon', ...words],
        { encoding: 'utf8' },
      ).split('\n')
    expect(call('')).toContain('inspect:Describe a shared library: format, dependencies, custom calls, functions')
    const specs = call('call', '')
    expect(specs).toContain('1:library:_files')
    expect(specs).toContain('--json[print one JSON document]')
    expect(specs).toContainEqual(expect.stringMatching(/^\*--arg=\[an operand, .*\]:x\.npy:_files$/))
    expect(specs).toContainEqual(expect.stringMatching(/^--abi=\[.*\]:convention:\(typed host .* packed\)$/))
  })

test('tenon completion refuses other shells', () => {
  expect(runTenon(['completion', 'tcsh'])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('the shell must be one of bash, zsh, fish, got tcsh') as string,
  })
  expect(runTenon(['completion'])).toMatchObject({ code: 2, stdout: '' })
})
