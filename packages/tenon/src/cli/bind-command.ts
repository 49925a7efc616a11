import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, relative, resolve, sep } from 'node:path'
import { readBinary } from '@tenon/binary'
import type * as bindTool from '@tenon/bind'
import type { LibraryExports, Model, ModuleFiles } from '@tenon/bind'
import { parseArguments } from './arguments.ts'
import type { Definition, Values } from './definition.ts'
import { ExitCode } from './failure.ts'
import { InputError } from './input-error.ts'
import { libraryPath } from '../library-path.ts'
import { findInProject, loadPeer } from './load-peer.ts'
import type { SubCommand } from './sub-command.ts'
import { printable, printData, printTalk } from './terminal.ts'
import { commandUsage } from './usage.ts'
import { UsageError } from './usage-error.ts'

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
    description: 'a library that exports the functions; without one, they are looked up in the process',
  },
  output: { type: 'string', valueHint: 'directory', description: 'where to write index.js and index.d.ts' },
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
  report: { type: 'boolean', description: 'list the declarations that are not in the module, with their reasons' },
  check: { type: 'boolean', description: 'write nothing, print what has changed, and exit with 1 if anything has' },
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
  const { headers, library, output, include, exclude, header, shim, report, check, json } = values
  if (output === undefined && !report && !json)
    throw new UsageError('--output is missing', 'Pass a directory: --output src/sqlite3. Or pass --report.')
  if (check && output === undefined) throw new UsageError('--check needs --output', 'Pass the directory to check.')
  const tool = await loadBindTool()
  const start = performance.now()
  const model = await readModelOf(tool, headers.map(headerName), {
    flags,
    libraries: library.map(exportsOf),
    include,
    exclude,
    headerFiles: header,
    ...(shim && {
      shim: { libraries: library.map((name) => ({ path: libraryPath(name), place: placeOf(name, output ?? '.') })) },
    }),
  })
  if (model === undefined) return ExitCode.kernelFailed
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  if (json) printData(JSON.stringify(model, jsonValue, 2))
  else if (report) for (const line of reportLines(model)) printData(printable(line))
  if (output !== undefined) {
    const from =
      findInProject('tenon') === undefined && findInProject('@tenon/scope') !== undefined ? '@tenon' : 'tenon'
    const files = tool.writeModule(model, { libraries: library.map((name) => placeOf(name, output)), from })
    if (check) compare(output, files)
    else write(output, files)
  }
  printTalk(summaryOf(model, seconds))
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

function exportsOf(library: string): LibraryExports {
  const path = libraryPath(library)
  if (!existsSync(path))
    throw new InputError(
      `the library ${library} does not exist`,
      'Pass a path, or the name that the loader searches, such as libz.so.1.',
    )
  return { name: basename(library), symbols: new Set(readBinary(path).exports.map(({ name }) => name)) }
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
  if (!files.shim) return
  // A process that has loaded the old file keeps it.
  const path = join(output, files.shim.name)
  rmSync(path, { force: true })
  writeFileSync(path, files.shim.bytes)
}

/** @throws {InputError} if a file differs, after the names that differ are printed */
function compare(output: string, files: ModuleFiles): void {
  const stale: string[] = NAMES.filter((name) => {
    const path = join(output, name)
    return !existsSync(path) || readFileSync(path, 'utf8') !== textOf(files, name)
  })
  // Its bytes depend on the compiler. The hash in index.js does not.
  if (files.shim && !existsSync(join(output, files.shim.name))) stale.push(files.shim.name)
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

const reportLines = (model: Model): string[] =>
  model.refused.map(
    ({ name, reason, detail, place: { file, line } }) =>
      `${basename(file)}:${line} ${name}: ${detail === '' ? reason : `${reason}: ${detail}`}`,
  )

function summaryOf({ functions, constants, records, variables, refused }: Model, seconds: string): string {
  const structs = records.filter(({ layout }) => layout !== undefined).length
  const counts = [
    [functions.length, 'function'],
    [constants.length, 'constant'],
    [structs, 'struct'],
    [variables.length, 'variable'],
  ] as const
  const bound = counts
    .filter(([count]) => count > 0)
    .map(([count, name]) => `${count} ${name}${count === 1 ? '' : 's'}`)
  const left = refused.length === 0 ? '' : `; ${refused.length} not bound (--report lists them)`
  return `${bound.length === 0 ? 'nothing' : bound.join(', ')} in ${seconds} s${left}`
}
