import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describeLibrary } from './describe-library.ts'
import { declarations, wrappers } from './generate-types.ts'
import { InputError } from './input-error.ts'
import type { Definition } from './definition.ts'
import { defineSubCommand, type SubCommand } from './sub-command.ts'
import { printable, printData, printTalk } from './terminal.ts'
import { UsageError } from './usage-error.ts'

const args = {
  library: { type: 'positional', required: true, description: 'the shared library' },
  output: {
    type: 'string',
    valueHint: 'kernels.js',
    description: 'the module to write, with its declarations beside it; or a .d.ts file alone',
  },
  check: {
    type: 'boolean',
    description: 'write nothing, and exit with 1 if the files differ from what would be written',
  },
  registered: {
    type: 'boolean',
    description: 'load the library, and include the handlers that it registers itself',
  },
} as const satisfies Definition

/** The command `tenon types`, which writes TypeScript for the kernels of a library. */
export const typesCommand: SubCommand = defineSubCommand({
  meta: { name: 'types', description: 'Write the TypeScript declarations of the kernels of a library' },
  args,
  run({ library, output, check, registered }) {
    if (output !== undefined && !/\.(?:js|mjs|d\.ts|d\.mts)$/.test(output))
      throw new UsageError(`--output must end in .js, .mjs or .d.ts, got ${output}`)
    if (check && output === undefined) {
      throw new UsageError('--check needs --output', 'Pass the module to check: --output kernels.js.')
    }
    const { exported, left } = describeLibrary(library, registered)
    const declared = declarations(library, exported)
    if (output === undefined) printData(declared.trimEnd())
    else {
      const isModule = !/\.d\.m?ts$/.test(output)
      const files: [path: string, text: string][] = [[output.replace(/(?<!\.d)\.(m?)js$/, '.d.$1ts'), declared]]
      if (isModule) files.push([output, wrappers(placeFrom(output, library), exported)])
      for (const [path, text] of files) (check ? compare : write)(path, text)
    }
    for (const { reason, names } of left) printTalk(`left out, because ${reason}: ${printable(names.join(', '))}`)
  },
})

function write(path: string, text: string): void {
  writeFileSync(path, text)
  printTalk(`${path}: written`)
}

function compare(path: string, text: string): void {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return
  throw new InputError(
    `${path} ${existsSync(path) ? 'is not what tenon types writes for this library' : 'does not exist'}`,
    'Run tenon types without --check to write it.',
  )
}

/** The path of the library relative to the module at `output`, so that both can be moved together. */
function placeFrom(output: string, library: string): string {
  const path = relative(dirname(resolve(output)), resolve(library))
  const [first] = path.split(sep)
  const place =
    path === resolve(library)
      ? pathToFileURL(path).href
      : encodeURI((first === '..' ? path : `./${path}`).replaceAll(sep, '/'))
  return place.replaceAll(/[#?']/g, (character) => `%${character.charCodeAt(0).toString(16)}`)
}
