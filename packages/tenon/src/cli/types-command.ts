import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describeLibrary } from './describe-library.ts'
import { readRefinements } from '../registered/refinements.ts'
import { NOTHING } from '../registered/registered.ts'
import { declarations, relativePlace, wrappers, type Declarations, type Exported } from './generate-types.ts'
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
    description: 'the module to write: .js with its declarations beside it, .ts with its types, or a .d.ts file alone',
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
  json: { type: 'boolean', description: 'print one JSON document' },
} as const satisfies Definition

/** The command `tenon types`, which writes TypeScript for the kernels of a library. */
export const typesCommand: SubCommand = defineSubCommand({
  meta: { name: 'types', description: 'Write the TypeScript declarations of the kernels and types of a library' },
  args,
  run({ library, output, check, registered, prefix, names, refine, json }) {
    if (output !== undefined && !/\.m?[jt]s$/.test(output))
      throw new UsageError(`--output must end in .js, .mjs, .ts, .mts or .d.ts, got ${output}`)
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
    const declared = declarations(basename(library), exported, { naming: names, refinements })
    const { text: declaredText, undeclared } = declared
    const files = output === undefined ? [] : filesOf(output, library, exported, declared)
    for (const [path, text] of files) (check ? compare : write)(path, text)
    if (json) {
      const paths = files.map(([path]) => path)
      printData(JSON.stringify({ library, declarations: declaredText, files: paths, left, undeclared }, undefined, 2))
    } else if (output === undefined) printData(declaredText.trimEnd())
    for (const one of left) printTalk(`left out, because ${one.reason}: ${namesText(one.names)}`)
    if (undeclared.length > 0) printTalk(`NativeObject, because these types are not declared: ${namesText(undeclared)}`)
  },
})

/** The files to write: a module in TypeScript, one in JavaScript with its declarations, or declarations alone. */
function filesOf(
  output: string,
  library: string,
  exported: Exported,
  declared: Declarations,
): readonly (readonly [path: string, text: string])[] {
  if (/\.d\.m?ts$/.test(output)) return [[output, declared.text]]
  const libraries = [{ place: relativePlace(placeFrom(output, library)), exported }]
  if (output.endsWith('ts')) return [[output, wrappers(libraries, declared)]]
  return [
    [output.replace(/\.(m?)js$/, '.d.$1ts'), declared.text],
    [output, wrappers(libraries)],
  ]
}

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
