import { writeFileSync } from 'node:fs'
import { dirname, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { declarations, describePacked, wrappers } from './generate-types.ts'
import { defineSubCommand, type Definition, type SubCommand } from './sub-command.ts'
import { printData, printTalk } from './terminal.ts'
import { UsageError } from './usage-error.ts'

const args = {
  library: { type: 'positional', required: true, description: 'the shared library, with packed functions' },
  output: {
    type: 'string',
    valueHint: 'kernels.js',
    description: 'the module to write, with its declarations beside it; or a .d.ts file alone',
  },
} as const satisfies Definition

/** The command `tenon types`, which writes TypeScript for the packed functions of a library. */
export const typesCommand: SubCommand = defineSubCommand({
  meta: { name: 'types', description: 'Write the TypeScript declarations of the packed functions of a library' },
  args,
  run({ library, output }) {
    if (output !== undefined && !/\.(?:js|mjs|d\.ts|d\.mts)$/.test(output))
      throw new UsageError(`--output must end in .js, .mjs or .d.ts, got ${output}`)
    const { functions, left } = describePacked(library)
    if (output === undefined) printData(declarations(library, functions).trimEnd())
    else {
      const isModule = !/\.d\.m?ts$/.test(output)
      const declared = isModule ? output.replace(/\.(m?)js$/, '.d.$1ts') : output
      write(declared, declarations(library, functions))
      if (isModule) write(output, wrappers(placeFrom(output, library), functions))
    }
    if (left.length > 0) printTalk(`left out, because the names are not valid in TypeScript: ${left.join(', ')}`)
  },
})

function write(path: string, text: string): void {
  writeFileSync(path, text)
  printTalk(`${path}: written`)
}

/** The path of the library relative to the module at `output`, so that both can be moved together. */
function placeFrom(output: string, library: string): string {
  const path = relative(dirname(resolve(output)), resolve(library))
  const [first] = path.split(sep)
  return path === resolve(library)
    ? pathToFileURL(path).href
    : encodeURI((first === '..' ? path : `./${path}`).replaceAll(sep, '/'))
}
