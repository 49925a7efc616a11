import { bashCompletion } from './complete-bash.ts'
import { fishCompletion } from './complete-fish.ts'
import { zshCompletion } from './complete-zsh.ts'
import type { Definition } from './definition.ts'
import { defineSubCommand, type SubCommand } from './sub-command.ts'
import { printData } from './terminal.ts'
import type { DescribedCommand } from './usage.ts'
import { UsageError } from './usage-error.ts'

/** The scripts by the names of the shells. */
const scripts: ReadonlyMap<string, (commands: readonly DescribedCommand[]) => string> = new Map([
  ['bash', bashCompletion],
  ['zsh', zshCompletion],
  ['fish', fishCompletion],
])

const shells: readonly string[] = [...scripts.keys()]

const args = {
  shell: { type: 'positional', options: shells, description: `the shell: ${shells.join(', ')}` },
} as const satisfies Definition

/** Makes the command `tenon completion`, which prints a script for a shell. @param loadAll loads all commands */
export const makeCompletionCommand = (loadAll: () => Promise<readonly SubCommand[]>): SubCommand =>
  defineSubCommand({
    meta: { name: 'completion', description: 'Print the script with which bash, zsh or fish completes this command' },
    args,
    async run({ shell }) {
      const script = scripts.get(shell)
      if (script === undefined) throw new UsageError(`the shell must be one of ${shells.join(', ')}, got ${shell}`)
      printData(script(completedCommands(await loadAll())))
    },
  })

/** The commands and flags that can be typed: those of the table, `--help` of each, and `tenon help`. */
function completedCommands(commands: readonly SubCommand[]): DescribedCommand[] {
  const help = { type: 'boolean', description: 'print the arguments of the command' } as const
  const command = { type: 'positional', options: commands.map(({ meta }) => meta.name) } as const
  return [
    ...commands.map(({ meta, args: own }) => ({ meta, args: { ...own, help } })),
    { meta: { name: 'help', description: 'Print the arguments of a command' }, args: { command } },
  ]
}
