import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, relative, resolve, sep } from 'node:path'
import type * as bindTool from '@tenon/bind'
import type { LibraryExports, Model, ModuleFiles } from '@tenon/bind'
import { parseArguments } from './arguments.ts'
import type { Definition, Values } from './definition.ts'
import { ExitCode } from './failure.ts'
import { InputError } from './input-error.ts'
import { exportedNames } from '../exported-names.ts'
import { libraryPath } from '../library-path.ts'
import { findInProject, loadPeer } from './load-peer.ts'
import type { SubCommand } from './sub-command.ts'
import { showProgress } from './progress.ts'
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
  const tool = await loadBindTool()
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
  tool: typeof bindTool,
  values: Values<typeof args>,
  flags: readonly string[],
): Promise<{ readonly code?: ExitCode; readonly models?: readonly Model[] }> {
  const { headers, library, target, output, include, exclude, header, shim, report, check, json, strict } = values
  const annotations = values.annotations === undefined ? undefined : tool.readAnnotations(values.annotations)
  const start = performance.now()
  const targets = target.length === 0 ? [undefined] : [...new Set(target)]
  const models: Model[] = []
  for (const platform of targets) {
    const progress = showProgress(`reading the headers${platform === undefined ? '' : ` for ${platform}`}`)
    const libraries = librariesFor(library, platform)
    const model = await readModelOf(tool, headers.map(headerName), {
      ...(platform !== undefined && { target: platform as NonNullable<bindTool.ReadOptions['target']> }),
      flags,
      libraries: libraries.map((name) => exportsOf(name, platform)),
      include,
      exclude,
      headerFiles: header,
      macros: annotations?.macros ?? {},
      versions: annotations === undefined ? {} : tool.symbolVersions(annotations),
      ...(shim && { shim: { libraries: shimLibraries(libraries, platform, output ?? '.') } }),
    }).finally(() => progress.end())
    if (model === undefined) return { code: ExitCode.kernelFailed }
    models.push(changedModel(tool, model, annotations, values))
  }
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
  for (const model of models) printTalk(`${target.length > 1 ? `${model.target}: ` : ''}${summaryOf(model, seconds)}`)
  const isStrict = strict && models.some(({ refused }) => refused.length > 0)
  return isStrict ? { code: ExitCode.userError, models } : { models }
}

const ASSIGNED = /^([a-z0-9]+(?:-[a-z0-9]+){0,2})=(.+)$/

/** The libraries of a platform: those without a platform, and those whose platform is this one or begins its name, as `win32=zlib1.dll`. */
function librariesFor(library: readonly string[], platform: string | undefined): string[] {
  return library.flatMap((text) => {
    const [, name, file = text] = platform === undefined ? [] : (ASSIGNED.exec(text) ?? [])
    return name === undefined || platform === name || platform!.startsWith(`${name}-`) ? [file] : []
  })
}

/** The libraries that a shim for a platform is linked with. Those of other systems are not on this machine. */
function shimLibraries(
  libraries: readonly string[],
  platform: string | undefined,
  output: string,
): bindTool.ShimLibrary[] {
  const isHere = platform === undefined || platform.startsWith(`${process.platform}-${process.arch}`)
  return isHere ? libraries.map((name) => ({ path: libraryPath(name), place: placeOf(name, output) })) : []
}

/** The model with its annotations and names. */
function changedModel(
  tool: typeof bindTool,
  model: Model,
  annotations: bindTool.Annotations | undefined,
  { 'strip-prefix': prefixes }: Values<typeof args>,
): Model {
  const annotated = annotations === undefined ? model : tool.annotate(model, annotations)
  return prefixes.length === 0 ? annotated : tool.stripPrefixes(annotated, prefixes)
}

/** Integers are text, as JSON has no 64 bits, and bytes are hexadecimal digits. */
function jsonValue(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
}

/** @returns undefined if the compiler refuses the headers, after its errors are printed */
async function readModelOf(
  tool: typeof bindTool,
  headers: readonly string[],
  options: bindTool.ReadOptions,
): Promise<Model | undefined> {
  try {
    return await tool.readModel(headers, options)
  } catch (error) {
    if (!(error instanceof tool.CompilerError)) throw error
    printTalk(printable(error.message))
    return undefined
  }
}

async function loadBindTool(): Promise<typeof bindTool> {
  const tool = await loadPeer('@tenon/bind')
  if (tool !== undefined) return tool as typeof bindTool
  throw new UsageError(
    'tenon bind needs @tenon/bind, which is not installed',
    'Install it: npm install --save-dev @tenon/bind',
  )
}

/** A file, or a header that the compiler searches in its directories. */
const headerName = (header: string): string => (existsSync(header) ? resolve(header) : `<${header}>`)

/** The exports of a library. One of another platform need not be on this machine: then its functions are looked up when the module runs. */
function exportsOf(library: string, platform: string | undefined): LibraryExports {
  const path = libraryPath(library)
  if (existsSync(path)) return { name: basename(library), symbols: exportedNames(path) }
  if (platform !== undefined && !platform.startsWith(`${process.platform}-${process.arch}`))
    return { name: basename(library), symbols: undefined }
  throw new InputError(
    `the library ${library} does not exist`,
    'Pass a path, or the name that the loader searches, such as libz.so.1.',
  )
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

/** The text of each exported declaration by its name. */
function declarationsOf(text: string): Map<string, string> {
  const declarations = new Map<string, string>()
  for (const part of text.split(/^(?=export )/m)) {
    const name = /^export (?:declare )?(?:const|class|function|type) ([\w$]+)/.exec(part)?.[1]
    if (name !== undefined) declarations.set(name, part.replace(/\/\*\*[^]*$/, '').trim())
  }
  return declarations
}

/** A line for each declaration that is not bound. A line that is not for all platforms ends with those for which it is. */
function reportLines(models: readonly Model[]): string[] {
  const lines = new Map<string, string[]>()
  for (const { target, refused } of models)
    for (const { name, reason, detail, place } of refused) {
      const text = `${basename(place.file)}:${place.line} ${name}: ${detail === '' ? reason : `${reason}: ${detail}`}`
      lines.set(text, [...(lines.get(text) ?? []), target])
    }
  return [...lines].map(([text, targets]) =>
    targets.length === models.length ? text : `${text} (${targets.join(', ')})`,
  )
}

/** Prints a line for each function that cannot run in another process, and how many can. */
function reportIsolation(tool: typeof bindTool, { functions, records }: Model): void {
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

function summaryOf(
  { functions, constants, records, variables, refused, handles = [] }: Model,
  seconds: string,
): string {
  const structs = records.filter(({ layout }) => layout !== undefined).length
  const counts = [
    [functions.length, 'function'],
    [constants.length, 'constant'],
    [structs, 'struct'],
    [variables.length, 'variable'],
    [handles.length, 'handle'],
  ] as const
  const bound = counts
    .filter(([count]) => count > 0)
    .map(([count, name]) => `${count} ${name}${count === 1 ? '' : 's'}`)
  const left = refused.length === 0 ? '' : `; ${refused.length} not bound (--report lists them)`
  const isWrong = functions.length === 0 && refused.some(({ reason }) => reason === 'not exported')
  const none = isWrong ? '; the library exports none of the functions: is it that of these headers?' : ''
  return `${bound.length === 0 ? 'nothing' : bound.join(', ')} in ${seconds} s${left}${none}`
}
