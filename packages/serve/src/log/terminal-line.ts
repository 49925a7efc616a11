import { styleText } from 'node:util'

/** The members of a line that have a place of their own on a terminal. */
const PLACED: ReadonlySet<string> = new Set([
  'time',
  'level',
  'message',
  'method',
  'path',
  'status',
  'durationMs',
  'stack',
])

/** Control characters besides line feeds. A client could send them to move the cursor of the terminal. */
const CONTROL = /(?!\n)\p{Cc}/gu

const COLORS = { info: 'green', warn: 'yellow', error: 'red' } as const

/** Writes a line of JSON as a person reads it: `12:00:01.250 info  POST /v2/models/m/infer 200 1.2 ms answered model=m`. */
export function terminalLine(json: string): string {
  const line = JSON.parse(json) as Readonly<Record<string, unknown>>
  const { time, level, message, method, path, status, durationMs, stack } = line
  const style = (format: Parameters<typeof styleText>[0], text: string): string =>
    styleText(format, text, { stream: process.stderr })
  const others = Object.entries(line)
    .filter(([name]) => !PLACED.has(name))
    .map(([name, value]) => style('dim', `${name}=${printable(value)}`))
  const parts = [
    style('dim', printable(time).slice(11, 23)),
    style(COLORS[level as keyof typeof COLORS] ?? 'green', printable(level).padEnd(5)),
    ...(method === undefined ? [] : [printable(method), printable(path), printable(status)]),
    ...(durationMs === undefined ? [] : [`${printable(durationMs)} ms`]),
    printable(message),
    ...others,
  ]
  return `${parts.join(' ')}\n${stack === undefined ? '' : `${printable(stack)}\n`}`
}

const printable = (value: unknown): string =>
  (typeof value === 'string' ? value : JSON.stringify(value)).replaceAll(CONTROL, '�')
