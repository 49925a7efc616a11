import { handlerText } from '../signatures/handler-signatures.ts'
import { isSignatureSymbol, readMark } from '../signatures/marks.ts'
import { customCallLines, hiddenCandidates, packedLines } from './inspect-kernels.ts'
import type { InspectReport } from './inspect-report.ts'
import { alignColumns, printable, type Style } from './terminal.ts'

/** The number of functions that are listed without `--symbols`. */
const MAX_FUNCTIONS = 24

const formats = { elf: 'ELF', 'mach-o': 'Mach-O', pe: 'PE' } as const
const kinds = { shared: 'shared library', executable: 'program', object: 'object file', other: 'file' } as const

/** @param isLoaded whether the library is loaded as well, to show what it registers */
export function inspectText(
  untrusted: InspectReport,
  style: Style,
  { symbols, isLoaded }: { readonly symbols: boolean; readonly isLoaded: boolean },
): string {
  const report = withPrintableTexts(untrusted)
  const generation = report.packedGeneration === undefined ? '' : ` (${report.packedGeneration})`
  return [
    style.strong(report.path),
    ...facts(report, style),
    ...section('custom calls', customCallLines(report), style),
    ...(report.usesTensorFlow && !isLoaded
      ? ['', `${style.strong('TensorFlow kernels (C API)')}   ${TENSORFLOW_NOTE}`]
      : []),
    ...section(`packed functions${generation}`, packedLines(report), style),
    ...section(
      'typed handlers of C++, by their symbols',
      report.cppSignatures.map((signature) => `  ${handlerText(signature)}`),
      style,
    ),
    ...hiddenFunctions(report, style, symbols),
    ...evidence(report, style, isLoaded),
    ...(symbols ? symbolSections(report, style) : functions(report, style)),
  ].join('\n')
}

function withPrintableTexts<T>(value: T): T {
  if (typeof value === 'string') return printable(value) as T
  if (Array.isArray(value)) return value.map(withPrintableTexts) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withPrintableTexts(item)])) as T
}

function facts(report: InspectReport, style: Style): string[] {
  const { missing, provided } = report
  const libc = report.minimumGlibc ? `${report.libc} ${report.minimumGlibc} or newer` : report.libc
  const rows: (readonly [name: string, text: string | undefined])[] = [
    ['format', `${formats[report.format]} ${report.bits}-bit ${report.endianness}-endian ${kinds[report.kind]}`],
    ['processor', report.architectures.join(', ')],
    ['libc', libc],
    ['name', report.soname],
    ['needs', report.needed.length === 0 ? 'no library' : report.needed.join(', ')],
    ['searches', [...report.rpath, ...report.runpath].join(', ') || undefined],
  ]
  const lines = rows.flatMap(([name, text]) => (text === undefined ? [] : [`  ${name.padEnd(11)}${text}`]))
  const lacking = (missing ?? []).map(
    ({ name, neededBy }) => `  ${'missing'.padEnd(11)}${name} (needed by ${neededBy})`,
  )
  const given = provided.map(({ name, lacking: { length: count } }) => {
    const without = count === 0 ? '' : `, without ${count} ${count === 1 ? 'function' : 'functions'} it needs`
    return `  ${'provided'.padEnd(11)}${name} (provided by Tenon${without})`
  })
  const sidecar = report.sidecarError === undefined ? [] : [`  ${'sidecar'.padEnd(11)}${report.sidecarError}`]
  return [...lines, ...given, ...[...lacking, ...sidecar].map((line) => style.bad(line))]
}

function section(title: string, lines: readonly string[], style: Style): string[] {
  return lines.length === 0 ? [] : ['', style.strong(title), ...lines]
}

function hiddenFunctions(report: InspectReport, style: Style, symbols: boolean): string[] {
  const names = symbols ? report.hidden : hiddenCandidates(report)
  const shown = symbols ? names : names.slice(0, MAX_FUNCTIONS)
  const left = names.length - shown.length
  const more = left > 0 ? [style.faint(`  ${left} more: --symbols lists all`)] : []
  return section(`hidden functions (${names.length})`, [...shown.map((name) => `  ${name}`), ...more], style)
}

const HIDDEN_NOTE =
  'has functions with hidden visibility, as nanobind builds them: export a handler with TN_XLA_EXPORT, or with ' +
  'XLA_FFI_DEFINE_HANDLER_SYMBOL of JAX'

const TENSORFLOW_NOTE = 'registered when the library is loaded: tenon inspect --registered'

const REGISTERED_NOTE = 'registers types and functions when it is loaded: see them with --registered'

/** Notes on custom calls that the library does not mark, from its symbols. */
function evidence(report: InspectReport, style: Style, isLoaded: boolean): string[] {
  const { cppHandlers: count, usesCallStatus, registersItself, registersWithTvm, kernels } = report
  const isDescribed = kernels.some(({ convention, symbol }) => convention === 'typed' && symbol !== undefined)
  const handlers = `${count} typed ${count === 1 ? 'handler' : 'handlers'} written with XLA's C++ header`
  const notes: readonly (readonly [isShown: boolean, note: string])[] = [
    [count > 0, `${handlers}: ask one by its name with --handler <name>`],
    [usesCallStatus, 'reports failures through XlaCustomCallStatus: conventions host-status or host-unified'],
    [hiddenCandidates(report).length > 0, HIDDEN_NOTE],
    [registersWithTvm && !isLoaded, REGISTERED_NOTE],
    [registersItself && !isDescribed, 'asks for the table of XLA FFI: registers types or handlers itself'],
  ]
  return section(
    'notes',
    notes.flatMap(([isShown, note]) => (isShown ? [`  ${note}`] : [])),
    style,
  )
}

function functions(report: InspectReport, style: Style): string[] {
  const shown = report.functions.slice(0, MAX_FUNCTIONS)
  const left = report.functions.length - shown.length
  const others = [
    ...(left > 0 ? [`${left} more`] : []),
    ...(report.mangledFunctions > 0 ? [`${report.mangledFunctions} under names of C++ or Rust`] : []),
  ]
  const more = others.length > 0 ? [style.faint(`  ${others.join(', ')}: --symbols lists all`)] : []
  return section('functions', [...shown.map((name) => `  ${name}`), ...more], style)
}

function symbolSections({ exports, imports }: InspectReport, style: Style): string[] {
  const exported = exports
    .filter(({ name }) => readMark(name) === undefined && !isSignatureSymbol(name))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((symbol) => [symbol.name, symbol.kind + (symbol.weak ? ', weak' : ''), `0x${symbol.address.toString(16)}`])
  const imported = imports
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((symbol) => [
      symbol.name,
      symbol.weak ? 'weak' : '',
      [symbol.version, symbol.library].filter(Boolean).join(' '),
    ])
  return [
    ...section(`exported symbols (${exported.length})`, alignColumns(exported, '  '), style),
    ...section(`imported symbols (${imported.length})`, alignColumns(imported, '  '), style),
  ]
}
