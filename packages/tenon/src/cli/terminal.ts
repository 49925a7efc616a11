import { fstatSync, writeSync } from 'node:fs'
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
  print(1, `${text}\n`)
}

export function printBytes(bytes: Uint8Array): void {
  print(1, bytes)
}

export function printTalk(text: string): void {
  print(2, `${text}\n`)
}

let lost = (error: NodeJS.ErrnoException): void => {
  throw error
}

/** Sets what happens if stdout or stderr cannot be written. */
export function onLostOutput(action: (error: NodeJS.ErrnoException) => void): void {
  lost = action
}

const pause = new Int32Array(new SharedArrayBuffer(4))
const streams = new Map<number, NodeJS.WriteStream>()

/** Writes to files and pipes without the streams of Node.js, because loading those takes as long as a call. */
function print(descriptor: 1 | 2, data: string | Uint8Array): void {
  const stream = streams.get(descriptor) ?? streamOf(descriptor)
  if (stream !== undefined) {
    stream.write(data)
    return
  }
  for (let bytes: Uint8Array = typeof data === 'string' ? Buffer.from(data) : data; bytes.length > 0;) {
    try {
      bytes = bytes.subarray(writeSync(descriptor, bytes))
    } catch (error) {
      // The reader of a pipe that does not block has to make room.
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') Atomics.wait(pause, 0, 0, 1)
      else return lost(error as NodeJS.ErrnoException)
    }
  }
}

/** The stream for a terminal or another device. */
function streamOf(descriptor: 1 | 2): NodeJS.WriteStream | undefined {
  const status = fstatSync(descriptor)
  if (status.isFile() || status.isFIFO() || status.isSocket()) return undefined
  const stream = descriptor === 1 ? process.stdout : process.stderr
  stream.on('error', lost)
  streams.set(descriptor, stream)
  return stream
}

/** Formats rows as lines. Every column but the last is as wide as its widest cell. */
export function alignColumns(rows: readonly (readonly string[])[], indent = ''): string[] {
  // There may be more rows than a call can have arguments.
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.reduce((width, row) => Math.max(width, row[column]!.length), 0),
  )
  return rows.map((row) => (indent + row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ')).trimEnd())
}
