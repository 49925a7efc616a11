import { loadBuildTool } from './build-tool.ts'
import type { Definition } from './definition.ts'
import { defineSubCommand, type SubCommand } from './sub-command.ts'
import { printData } from './terminal.ts'
import { UsageError } from './usage-error.ts'

const args = {
  what: { type: 'positional', required: true, options: ['clear'], description: 'clear' },
  json: { type: 'boolean', description: 'print one JSON document' },
} as const satisfies Definition

/** The command `tenon cache clear`, which removes the libraries that were compiled from inline sources. */
export const cacheCommand: SubCommand = defineSubCommand({
  meta: {
    name: 'cache',
    description: 'Remove the libraries that loadInline() and compile() have stored (tenon cache clear)',
  },
  args,
  async run({ what, json }) {
    if (what !== 'clear') throw new UsageError(`tenon cache can clear, got ${what}`, 'Run tenon cache clear.')
    const { clearCache } = await loadBuildTool('cache')
    const { libraries, byteSize } = clearCache()
    printData(
      json
        ? JSON.stringify({ libraries, byteSize }, undefined, 2)
        : `removed ${libraries} ${libraries === 1 ? 'library' : 'libraries'}, ${(byteSize / 1000).toFixed(1)} kB`,
    )
  },
})
