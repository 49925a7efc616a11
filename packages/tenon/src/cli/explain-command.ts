import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { didYouMean } from '@tenon/core/internal'
import type { Definition } from './definition.ts'
import { InputError } from './input-error.ts'
import { defineSubCommand, type SubCommand } from './sub-command.ts'
import { printData } from './terminal.ts'

const args = {
  code: { type: 'positional', description: 'the code of the error, such as TENON_LOAD' },
  json: { type: 'boolean', description: 'print one JSON document' },
} as const satisfies Definition

/** The pages of all errors, which the build copies beside the command. */
const pages = new URL('./errors/', import.meta.url)

/** The command `tenon explain`, which prints the page of an error. */
export const explainCommand: SubCommand = defineSubCommand({
  meta: { name: 'explain', description: 'Print the page of an error: why it happens, and what to do' },
  args,
  run({ code, json }) {
    const files = readdirSync(pages)
      .filter((file) => file !== 'README.md')
      .toSorted()
    const codes = files.map((file) => `TENON_${basename(file, '.md').toUpperCase().replaceAll('-', '_')}`)
    const index = codes.indexOf(code.toUpperCase())
    if (index === -1)
      throw new InputError(`there is no error ${code}`, didYouMean(code, codes) ?? `The codes are ${codes.join(', ')}.`)
    const page = readFileSync(new URL(files[index]!, pages), 'utf8').trimEnd()
    printData(json ? JSON.stringify({ code: codes[index], page }, undefined, 2) : page)
  },
})
