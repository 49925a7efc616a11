import { fileURLToPath } from 'node:url'
import type { Definition } from './definition.ts'
import { defineSubCommand, type SubCommand } from './sub-command.ts'
import { printData } from './terminal.ts'

const args = {
  json: { type: 'boolean', description: 'print one JSON document' },
} as const satisfies Definition

/** The command `tenon include`, which prints the directory of the C headers, for the option `-I` of a compiler. */
export const includeCommand: SubCommand = defineSubCommand({
  meta: { name: 'include', description: 'Print the directory of the C headers, for the option -I of a compiler' },
  args,
  run({ json }) {
    const directory = fileURLToPath(new URL('include', import.meta.resolve('@tenon/core/package.json')))
    printData(json ? JSON.stringify({ directory }, undefined, 2) : directory)
  },
})
