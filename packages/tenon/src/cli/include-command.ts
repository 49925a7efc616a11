import { fileURLToPath } from 'node:url'
import { defineSubCommand, type SubCommand } from './sub-command.ts'
import { printData } from './terminal.ts'

/** The command `tenon include`, which prints the directory of the C headers, for the option `-I` of a compiler. */
export const includeCommand: SubCommand = defineSubCommand({
  meta: { name: 'include', description: 'Print the directory of the C headers, for the option -I of a compiler' },
  args: {},
  run() {
    printData(fileURLToPath(new URL('include', import.meta.resolve('@tenon/core/package.json'))))
  },
})
