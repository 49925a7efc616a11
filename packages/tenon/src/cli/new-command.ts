import { relative } from 'node:path'
import { packageVersion } from '../version.ts'
import { loadBuildTool } from './build-tool.ts'
import type { Definition } from './definition.ts'
import { defineSubCommand, type SubCommand } from './sub-command.ts'
import { printData } from './terminal.ts'
import { UsageError } from './usage-error.ts'

const KINDS = ['kernel', 'binding'] as const

const args = {
  what: { type: 'positional', required: true, options: KINDS, description: 'kernel or binding' },
  name: {
    type: 'positional',
    required: true,
    description: 'the name of the npm package, such as my-kernels or @me/my-kernels',
  },
  json: { type: 'boolean', description: 'print one JSON document' },
} as const satisfies Definition

/** The command `tenon new`, which makes a package of kernels, or of a C library that `tenon bind` binds. */
export const newCommand: SubCommand = defineSubCommand({
  meta: { name: 'new', description: 'Make a package of kernels, or one that binds a C library, with a test' },
  args,
  async run({ what, name, json }) {
    if (!isKind(what)) {
      throw new UsageError(`tenon new makes a kernel or a binding, got ${what}`, 'Run tenon new kernel NAME.')
    }
    const { newProject } = await loadBuildTool('new')
    const { directory, files } = newProject({ name, kind: what, tenon: packageVersion() })
    if (json) return printData(JSON.stringify({ name, directory, files }, undefined, 2))
    const folder = relative(process.cwd(), directory)
    const lines = [
      ...files.map((file) => `${folder}/${file}`),
      '',
      `next: cd ${folder} && npm install && npx tenon build && npx tenon test`,
    ]
    printData(lines.join('\n'))
  },
})

const isKind = (what: string): what is (typeof KINDS)[number] => KINDS.some((kind) => kind === what)
