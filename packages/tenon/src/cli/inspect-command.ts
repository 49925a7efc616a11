import { askHandlers, type HandlerReport } from './ask-handlers.ts'
import { inspectLibrary, type InspectReport } from './inspect-report.ts'
import { registeredBy } from '../registered/registered.ts'
import { registeredLines } from './inspect-registered.ts'
import { operationLines, operationsOf } from './inspect-tensorflow.ts'
import { inspectText } from './inspect-text.ts'
import type { Definition } from './definition.ts'
import { libraryPath } from '../library-path.ts'
import { defineSubCommand, type SubCommand } from './sub-command.ts'
import { alignColumns, printable, printData, styleFor, type Style } from './terminal.ts'

const args = {
  library: {
    type: 'positional',
    required: true,
    description: 'the shared library: ELF, Mach-O or PE, for any processor; or a name such as libm.so.6',
  },
  symbols: { type: 'boolean', description: 'list every exported and imported symbol' },
  needed: { type: 'boolean', description: 'list only the dependencies, one per line, and whether they are found' },
  handler: {
    type: 'string',
    repeatable: true,
    valueHint: 'name',
    description: 'load the library and ask this typed handler for its version and traits; repeatable',
  },
  handlers: {
    type: 'boolean',
    description: 'load the library, ask all its typed handlers, and list the registrations that were refused',
  },
  registered: {
    type: 'boolean',
    description: 'load the library, and list what it registers: types and functions of tvm-ffi, kernels of TensorFlow',
  },
  json: { type: 'boolean', description: 'print one JSON document' },
} as const satisfies Definition

/** The command `tenon inspect`, which describes a library. */
export const inspectCommand: SubCommand = defineSubCommand({
  meta: { name: 'inspect', description: 'Describe a shared library: format, dependencies, custom calls, functions' },
  args,
  run({ library: place, symbols, needed, json, handler: names, handlers: all, registered: isLoaded }) {
    const library = libraryPath(place)
    const report = inspectLibrary(library)
    const registered = isLoaded ? registeredBy(library, report) : undefined
    const operations = isLoaded && report.usesTensorFlow ? operationsOf(library) : []
    const handlers = names.length === 0 && !all ? [] : askHandlers(report, names, all)
    if (json) {
      const asked = handlers.length === 0 ? {} : { handlers }
      printData(
        JSON.stringify(
          { ...report, ...asked, ...(isLoaded ? { registered: { ...registered, operations } } : {}) },
          bigintAsHex,
          2,
        ),
      )
    } else if (needed) for (const line of neededLines(report)) printData(printable(line))
    else {
      const style = styleFor(process.stdout)
      const text = inspectText(report, style, { symbols, isLoaded })
      const added = registered === undefined ? [] : registeredLines(registered, style)
      printData([text, ...added, ...operationLines(operations, style), ...handlerLines(handlers, style)].join('\n'))
    }
  },
})

const bigintAsHex = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? `0x${value.toString(16)}` : value

/** One line per library for other programs: name, `missing` or `provided`, and the file that needs it if that is another one. */
function neededLines({ needed, missing = [], provided }: InspectReport): string[] {
  const lacking = [
    ...provided.map(({ name, neededBy }) => ({ name, neededBy, state: 'provided' })),
    ...missing.map(({ name, neededBy }) => ({ name, neededBy, state: 'missing' })),
  ]
  const states = new Map(lacking.map(({ name, state }) => [name, state]))
  const others = lacking.filter(({ name }) => !needed.includes(name))
  return [
    ...needed.map((name) => (states.has(name) ? `${name}\t${states.get(name)}` : name)),
    ...others.map(({ name, neededBy, state }) => `${name}\t${state}\t${neededBy}`),
  ]
}

function handlerLines(handlers: readonly HandlerReport[], style: Style): string[] {
  if (handlers.length === 0) return []
  const rows = handlers.map(({ name, error, version, stages, platform, convention, commandBufferCompatible }) => [
    name,
    version === undefined ? (convention ?? '') : `XLA FFI ${version}`,
    stages.join(', '),
    platform === undefined ? '' : `${error === undefined ? 'registered ' : ''}for ${platform}`,
    error ?? (commandBufferCompatible ? 'can be captured in a command buffer' : ''),
  ])
  return [
    '',
    style.strong('handlers'),
    ...alignColumns(
      rows.map((row) => row.map(printable)),
      '  ',
    ),
  ]
}
