/** A message of a compiler about a place in a source. */
export interface Diagnostic {
  readonly severity: 'error' | 'warning' | 'note'
  readonly message: string
  /** The name of the source, or the path of a header. */
  readonly file: string
  /** The line, counted from 1. */
  readonly line: number
  /** The column, counted from 1. It is 0 if the message has none, as those of linkers and of nvcc. */
  readonly column: number
}

/** gcc, clang and zig write `file:line:column: severity: message`. nvcc writes `file(line): severity: message`. */
const ofCompiler =
  /^(.+?)(?::(\d+)(?::(\d+))?|\((\d+)\)): (error|fatal error|internal compiler error|sorry, unimplemented|warning|note|remark)(?: #[\w-]+)?: (.*)$/

/** The linker of GNU knows the line of a function that it does not find, if there is debug information. */
const ofLinker = /^(?:\S*\bld(?:\.\w+)?: )?(?:.*\.o: )?(.+?):(\d+): (undefined reference to .*)$/

/**
 * Reads the messages of a compiler and its linker. Lines that do not begin a message, such as those with the source, are ignored.
 *
 * @param path of the compiled file, by which the linker knows it
 * @param name of the source
 */
export function parseDiagnostics(output: string, path: string, name: string): Diagnostic[] {
  return output.split(/\r?\n/).flatMap((text) => parseLine(text, path, name) ?? [])
}

function parseLine(text: string, path: string, name: string): Diagnostic | undefined {
  // Expressions that search a long line for a number take quadratic time.
  if (text.length > 10_000) return undefined
  const [, file, line, column = '0', lineInBrackets, word, message] = ofCompiler.exec(text) ?? []
  if (file !== undefined) {
    return {
      severity: severities[word!] ?? 'error',
      message: message!,
      file: file === path ? name : file,
      line: Number(line ?? lineInBrackets),
      column: Number(column),
    }
  }
  const [, place, at, reason] = ofLinker.exec(text) ?? []
  if (place === undefined) return undefined
  return {
    severity: 'error',
    message: reason!,
    file: place === path ? name : place,
    line: Number(at),
    column: 0,
  }
}

const severities: Readonly<Record<string, Diagnostic['severity']>> = {
  warning: 'warning',
  note: 'note',
  remark: 'note',
}

/** How many errors a message lists. */
const LISTED = 5

/** The longest part of a line that a message shows. */
const SHOWN = 120

/** Describes the errors among diagnostics: the first one with its line of the source. Returns undefined if there is no error. */
export function describeErrors(diagnostics: readonly Diagnostic[], source: string, name: string): string | undefined {
  const [first, ...others] = diagnostics.filter(({ severity }) => severity === 'error')
  if (first === undefined) return undefined
  const rest = others.length - (LISTED - 1)
  return [
    sentenceOf(first),
    ...(first.file === name ? excerpt(source, first) : []),
    ...others.slice(0, LISTED - 1).map(sentenceOf),
    ...(rest > 0 ? [`and ${rest} more`] : []),
  ].join('\n')
}

function sentenceOf({ file, line, column, message }: Diagnostic): string {
  return `${file}:${line}${column > 0 ? `:${column}` : ''}: ${message}`
}

/** The line of the source with a mark below the column. Tabs are one column wide, as the compiler is told. */
function excerpt(source: string, { line, column }: Diagnostic): string[] {
  const text = source.split(/\r?\n/, line)[line - 1]
  if (text === undefined || text.trim() === '') return []
  const begin = Math.max(0, column - SHOWN / 2)
  const shown = text.slice(begin, begin + SHOWN).replaceAll(/[^\P{C}]/gu, ' ')
  const margin = ' '.repeat(String(line).length)
  const mark = column > 0 ? [`  ${margin} | ${' '.repeat(column - 1 - begin)}^`] : []
  return [`  ${line} | ${shown}`, ...mark]
}
