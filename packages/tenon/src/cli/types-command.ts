import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describeLibrary } from './describe-library.ts'
import { readRefinements } from '../registered/refinements.ts'
import { NOTHING } from '../registered/registered.ts'
import { declarations, relativePlace, wrappers } from './generate-types.ts'
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
    description: 'load the library, and include the handlers, types and functions that it registers itself',
  },
  prefix: {
    type: 'string',
    valueHint: 'key',
    description: 'include only types and functions below this key, of those that are registered',
  },
  names: {
    type: 'enum',
    options: ['camel', 'original'],
    description: 'the names of the members of registered types',
  },
  refine: {
    type: 'string',
    valueHint: 'results.json',
    description: 'replace the result types of registered methods and functions: { "key.method": "key" }',
  },
} as const satisfies Definition

/** The command `tenon types`, which writes TypeScript for the kernels of a library. */
export const typesCommand: SubCommand = defineSubCommand({
  meta: { name: 'types', description: 'Write the TypeScript declarations of the kernels and types of a library' },
  args,
  run({ library, output, check, registered, prefix, names, refine }) {
    if (output !== undefined && !/\.(?:js|mjs|d\.ts|d\.mts)$/.test(output))
      throw new UsageError(`--output must end in .js, .mjs or .d.ts, got ${output}`)
    if (check && output === undefined) {
      throw new UsageError('--check needs --output', 'Pass the module to check: --output kernels.js.')
    }
    for (const [flag, value] of Object.entries({ prefix, names, refine })) {
      if (value !== undefined && !registered) {
        throw new UsageError(`--${flag} needs --registered`, 'Pass --registered, which loads the library.')
      }
    }
    const { exported, left } = describeLibrary(library, { registered, prefix })
    const refinements = refine === undefined ? undefined : readRefinements(refine, exported.registered ?? NOTHING)
    const { text: declared, undeclared } = declarations(basename(library), exported, { naming: names, refinements })
    if (output === undefined) printData(declared.trimEnd())
    else {
      const isModule = !/\.d\.m?ts$/.test(output)
      const files: [path: string, text: string][] = [[output.replace(/(?<!\.d)\.(m?)js$/, '.d.$1ts'), declared]]
      if (isModule) files.push([output, wrappers([{ place: relativePlace(placeFrom(output, library)), exported }])])
      for (const [path, text] of files) (check ? compare : write)(path, text)
    }
    for (const one of left) printTalk(`left out, because ${one.reason}: ${namesText(one.names)}`)
    if (undeclared.length > 0) printTalk(`NativeObject, because these types are not declared: ${namesText(undeclared)}`)
  },
})

const namesText = (names: readonly string[]): string => printable(names.join(', ')).replaceAll('\n', '\\n')

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
