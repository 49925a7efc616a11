import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, relative, resolve, sep } from 'node:path'
import type { Model, ModuleFiles, ShimLibrary } from '@tenon/bind'
import { exportsOf, isHere, librariesFor } from '../binding/bound-libraries.ts'
import { declarationsOf, reportLines, summaryOf } from '../binding/describe-models.ts'
import { type BindTool, loadBindTool } from '../binding/load-bind-tool.ts'
import { type BindingSource, type BindingTarget, readModels } from '../binding/read-models.ts'
import { parseArguments } from './arguments.ts'
import type { Definition, Values } from './definition.ts'
import { ExitCode } from './failure.ts'
import { InputError } from './input-error.ts'
import { libraryPath } from '../library-path.ts'
import { findInProject } from './load-peer.ts'
import type { SubCommand } from './sub-command.ts'
import { printable, printData, printTalk } from './terminal.ts'
import { commandUsage } from './usage.ts'
import { UsageError } from './usage-error.ts'
import { watchFiles } from './watch-files.ts'

const args = {
  headers: {
    type: 'positional',
    required: true,
    repeatable: true,
    description: 'the C headers, each after those that it needs',
  },
  library: {
    type: 'string',
    repeatable: true,
    valueHint: 'libz.so.1',
    description:
      'a library that exports the functions; without one, they are looked up in the process. With --target, PLATFORM=FILE is for one',
  },
  output: { type: 'string', valueHint: 'directory', description: 'where to write index.js and index.d.ts' },
  target: {
    type: 'string',
    repeatable: true,
    valueHint: 'platform',
    description: 'bind for a platform such as win32-x64, with zig; by default for this machine',
  },
  include: {
    type: 'string',
    repeatable: true,
    valueHint: 'pattern',
    description: 'bind only these names; a final * matches any rest',
  },
  exclude: { type: 'string', repeatable: true, valueHint: 'pattern', description: 'leave these names out' },
  header: {
    type: 'string',
    repeatable: true,
    valueHint: 'pattern',
    description: 'bind the declarations of these files, also of the system',
  },
  shim: {
    type: 'boolean',
    description: 'compile a library beside the module for inline functions, macros and types that no call can pass',
  },
  annotations: {
    type: 'string',
    valueHint: 'file',
    description: 'a JSON file that says what the headers do not: results, handles, lengths and errors',
  },
  'strip-prefix': {
    type: 'string',
    repeatable: true,
    valueHint: 'sqlite3_',
    description: 'remove a prefix from the names of functions, variables and constants',
  },
  report: { type: 'boolean', description: 'list the declarations that are not in the module, with their reasons' },
  isolate: {
    type: 'boolean',
    description: 'with --report, also list the functions that cannot run in another process',
  },
  check: { type: 'boolean', description: 'write nothing, print what has changed, and exit with 1 if anything has' },
  strict: { type: 'boolean', description: 'exit with 1 if a declaration is not in the module' },
  watch: { type: 'boolean', description: 'write again after every change, until the command is interrupted' },
  json: { type: 'boolean', description: 'print one JSON document' },
} as const satisfies Definition

const meta = { name: 'bind', description: 'Write a typed module for a C library from its headers' }

/**
 * The command `tenon bind`, which reads C headers with the compiler of this machine. It takes the compiler's own flags for headers: `-I`,
 * `-isystem`, `-D`, `-U`, `-include` and `-std`.
 */
export const bindCommand: SubCommand = {
  meta,
  args,
  start: (rawArgs) => ({
    usage: (style) => commandUsage(meta, args, style),
    run() {
      const { flags, rest } = splitCompilerFlags(rawArgs)
      return bind(parseArguments(rest, args, 'Run tenon bind --help for the list.'), flags)
    },
  }),
}

/** Flags of the compiler with a value of their own, and those with a value behind the letter. */
const SEPARATE = new Set(['-I', '-isystem', '-D', '-U', '-include'])

function splitCompilerFlags(rawArgs: readonly string[]): { flags: string[]; rest: string[] } {
  const flags: string[] = []
  const rest: string[] = []
  for (let i = 0; i < rawArgs.length; i++) {
    const text = rawArgs[i]!
    if (SEPARATE.has(text)) {
      const value = rawArgs[++i]
      if (value === undefined) throw new UsageError(`${text} needs a value`)
      flags.push(text, value)
    } else if (/^-(?:[IDU].|std=)/.test(text)) flags.push(text)
    else rest.push(text)
  }
  return { flags, rest }
}

async function bind(values: Values<typeof args>, flags: readonly string[]): Promise<ExitCode | void> {
  const { output, report, check, json, watch } = values
  if (output === undefined && !report && !json)
    throw new UsageError('--output is missing', 'Pass a directory: --output src/sqlite3. Or pass --report.')
  if (values.isolate && !report) throw new UsageError('--isolate needs --report')
  if (check && output === undefined) throw new UsageError('--check needs --output', 'Pass the directory to check.')
  if (watch && (check || json)) throw new UsageError(`--watch cannot be combined with --${check ? 'check' : 'json'}`)
  const tool = await loadBindTool('tenon bind')
  if (!watch) return (await bindOnce(tool, values, flags)).code
  await watchFiles('tenon bind', async () => {
    const { models = [] } = await bindOnce(tool, values, flags)
    return filesOf(values, models)
  })
}

/** The files whose changes change the module. */
function filesOf({ headers, library, annotations }: Values<typeof args>, models: readonly Model[]): string[] {
  const places = models.flatMap(({ functions, records, constants }) => [...functions, ...records, ...constants])
  return [
    ...headers.filter((header) => existsSync(header)),
    ...library.map(libraryPath),
    ...(annotations === undefined ? [] : [annotations]),
    ...new Set(places.map(({ place }) => place.file)),
  ]
}

async function bindOnce(
  tool: BindTool,
  values: Values<typeof args>,
  flags: readonly string[],
): Promise<{ readonly code?: ExitCode; readonly models?: readonly Model[] }> {
  const { headers, library, target, output, include, exclude, header, shim, report, check, json, strict } = values
  const start = performance.now()
  const targets = target.length === 0 ? [undefined] : [...new Set(target)]
  const source = {
    headers,
    flags,
    include,
    exclude,
    headerFiles: header,
    annotations: values.annotations,
    stripPrefixes: values['strip-prefix'],
  }
  const models = await readModelsOf(
    tool,
    source,
    targets.map((platform) => {
      const libraries = librariesFor(library, platform)
      return {
        ...(platform !== undefined && { target: platform as NonNullable<BindingTarget['target']> }),
        libraries: libraries.map((name) => exportsOf(name, platform)),
        ...(shim && { shim: { libraries: shimLibraries(libraries, platform, output ?? '.') } }),
      }
    }),
  )
  if (models === undefined) return { code: ExitCode.kernelFailed }
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  if (json) printData(JSON.stringify(models.length === 1 ? models[0] : models, jsonValue, 2))
  else if (report) for (const line of reportLines(models)) printData(printable(line))
  if (values.isolate && !json) for (const model of models) reportIsolation(tool, model)
  if (output !== undefined) {
    const from =
      findInProject('tenon') === undefined && findInProject('@tenon/scope') !== undefined ? '@tenon' : 'tenon'
    const places = Object.fromEntries(
      models.map((model, index) => [
        model.target,
        librariesFor(library, targets[index]).map((name) => placeOf(name, output)),
      ]),
    )
    const files = tool.writeModule(models as [Model, ...Model[]], { libraries: places, from })
    if (check) compare(output, files)
    else write(output, files)
  }
  for (const model of models)
    printTalk(`${target.length > 1 ? `${model.target}: ` : ''}${summaryOf(model, ` in ${seconds} s`)}`)
  const isStrict = strict && models.some(({ refused }) => refused.length > 0)
  return isStrict ? { code: ExitCode.userError, models } : { models }
}

/** The libraries that a shim for a platform is linked with. Those of other systems are not on this machine. */
function shimLibraries(libraries: readonly string[], platform: string | undefined, output: string): ShimLibrary[] {
  return isHere(platform) ? libraries.map((name) => ({ path: libraryPath(name), place: placeOf(name, output) })) : []
}

/** Integers are text, as JSON has no 64 bits, and bytes are hexadecimal digits. */
function jsonValue(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
}

/** @returns undefined if the compiler refuses the headers, after its errors are printed */
async function readModelsOf(
  tool: BindTool,
  source: BindingSource,
  targets: readonly BindingTarget[],
): Promise<Model[] | undefined> {
  try {
    return await readModels(tool, source, targets)
  } catch (error) {
    if (!(error instanceof tool.CompilerError)) throw error
    printTalk(printable(error.message))
    return undefined
  }
}

/** A library as the module opens it: by name, or by its path relative to the module. */
function placeOf(library: string, output: string): string {
  if (!library.includes('/') && !existsSync(library)) return library
  const path = relative(resolve(output), resolve(library)).replaceAll(sep, '/')
  return path.startsWith('.') ? path : `./${path}`
}

const NAMES = ['index.js', 'index.d.ts'] as const

const textOf = ({ code, declarations }: ModuleFiles, name: (typeof NAMES)[number]): string =>
  name === 'index.js' ? code : declarations

function write(output: string, files: ModuleFiles): void {
  mkdirSync(output, { recursive: true })
  for (const name of NAMES) writeFileSync(join(output, name), textOf(files, name))
  for (const { name, bytes } of files.shims) {
    // A process that has loaded the old file keeps it.
    const path = join(output, name)
    rmSync(path, { force: true })
    writeFileSync(path, bytes)
  }
}

/** @throws {InputError} if a file differs, after the names that differ are printed */
function compare(output: string, files: ModuleFiles): void {
  const stale: string[] = NAMES.filter((name) => {
    const path = join(output, name)
    return !existsSync(path) || readFileSync(path, 'utf8') !== textOf(files, name)
  })
  // Its bytes depend on the compiler. The hash in index.js does not.
  stale.push(...files.shims.map(({ name }) => name).filter((name) => !existsSync(join(output, name))))
  if (stale.length === 0) return
  const path = join(output, 'index.d.ts')
  const before = declarationsOf(existsSync(path) ? readFileSync(path, 'utf8') : '')
  const after = declarationsOf(files.declarations)
  for (const name of before.keys()) if (!after.has(name)) printData(`- ${name}`)
  for (const [name, text] of after) {
    if (!before.has(name)) printData(`+ ${name}`)
    else if (before.get(name) !== text) printData(`~ ${name}`)
  }
  throw new InputError(
    `${stale.join(' and ')} of ${output} differ from what tenon bind writes for these headers`,
    'Run it without --check to write them.',
  )
}

/** Prints a line for each function that cannot run in another process, and how many can. */
function reportIsolation(tool: BindTool, { functions, records }: Model): void {
  const known = new Map(records.map((record) => [record.id, record]))
  let count = 0
  for (const one of functions) {
    const problem = tool.isolationProblem(one, known)
    if (problem === undefined) count++
    else
      printData(
        printable(`${basename(one.place.file)}:${one.place.line} ${one.name}: ${problem}, not in another process`),
      )
  }
  printData(`${count} of ${functions.length} functions can run in another process`)
}
