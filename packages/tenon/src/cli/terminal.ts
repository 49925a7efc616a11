import { styleText } from 'node:util'

/** How the parts of a report look on a terminal; plain text elsewhere. */
export interface Style {
  strong(text: string): string
  faint(text: string): string
  bad(text: string): string
}

type Format = Parameters<typeof styleText>[0]

/** Colours where the stream is a terminal that has them and NO_COLOR doesn't forbid it. */
export function styleFor(stream: NodeJS.WriteStream): Style {
  const { NO_COLOR, TERM } = process.env
  const coloured = stream.isTTY && (NO_COLOR === undefined || NO_COLOR === '') && TERM !== 'dumb'
  const apply = (format: Format) => (text: string) =>
    coloured ? styleText(format, text, { validateStream: false }) : text
  return { strong: apply('bold'), faint: apply('dim'), bad: apply('red') }
}

/** Names in libraries and words of kernels may be anything: control characters would command the terminal. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/[\0-\x1f\x7f-\x9f]/g, (character) => {
    if (character === '\n' || character === '\t') return character
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`
  })
}

/** What the user asked for. */
export function printData(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** What there is to say about it: never part of the data. */
export function printTalk(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** Rows of cells as lines, every column as wide as its widest cell but the last. */
export function alignColumns(rows: readonly (readonly string[])[], indent = ''): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows.map((row) => (indent + row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ')).trimEnd())
}
