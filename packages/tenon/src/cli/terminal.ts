import { styleText } from 'node:util'

/** Elsewhere than on a terminal, the styles leave the text unchanged. */
export interface Style {
  strong(text: string): string
  faint(text: string): string
  bad(text: string): string
}

type Format = Parameters<typeof styleText>[0]

/** Colours if the stream is a terminal that supports them, and NO_COLOR is not set. */
export function styleFor(stream: NodeJS.WriteStream): Style {
  const { NO_COLOR, TERM } = process.env
  const coloured = stream.isTTY && (NO_COLOR === undefined || NO_COLOR === '') && TERM !== 'dumb'
  const apply = (format: Format) => (text: string) =>
    coloured ? styleText(format, text, { validateStream: false }) : text
  return { strong: apply('bold'), faint: apply('dim'), bad: apply('red') }
}

/** Escapes control characters, with which names in libraries and messages of kernels could control the terminal. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/[\0-\x1f\x7f-\x9f]/g, (character) => {
    if (character === '\n' || character === '\t') return character
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`
  })
}

export function printData(text: string): void {
  process.stdout.write(`${text}\n`)
}

export function printTalk(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** Formats rows as lines. Every column but the last is as wide as its widest cell. */
export function alignColumns(rows: readonly (readonly string[])[], indent = ''): string[] {
  // There may be more rows than a call can have arguments.
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.reduce((width, row) => Math.max(width, row[column]!.length), 0),
  )
  return rows.map((row) => (indent + row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ')).trimEnd())
}
