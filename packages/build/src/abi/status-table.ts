import { ToolError } from '../tool-error.ts'
import { renderTable } from './render-table.ts'

interface StatusRow {
  readonly name: string
  readonly value: number
  readonly text: string
}

/**
 * Reads the rows of an X-macro table, which contains only rows `TN_STATUS(NAME, value, "text")` and comments.
 *
 * @throws {ToolError} if a line is something else, or a name or a value occurs twice.
 */
export function parseStatusTable(source: string): StatusRow[] {
  const rows = source
    .replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => {
      const match = /^TN_STATUS\(([A-Z][A-Z0-9_]*), (-?\d+), "([^"\\]*)"\)$/.exec(line)
      if (!match) throw new ToolError(`The status table has a line that is no TN_STATUS(NAME, value, "text"): ${line}`)
      return { name: match[1]!, value: Number(match[2]), text: match[3]! }
    })
  for (const key of ['name', 'value'] as const) {
    const values = rows.map((row) => row[key])
    const twice = values.find((value, index) => values.indexOf(value) !== index)
    if (twice !== undefined) throw new ToolError(`The status table has the ${key} ${twice} twice`)
  }
  return rows
}

export function renderStatusTable(rows: readonly StatusRow[]): string {
  const lines = rows.map(({ name, value, text }) => {
    const quote = text.includes("'") ? '"' : "'"
    return `  ${name}: { value: ${value}, text: ${quote}${text}${quote} },`
  })
  return [
    renderTable('The status codes of the C core, by name.', 'STATUS', lines),
    '/** The name of a status code of the C core, without `TN_`. */',
    'export type StatusName = keyof typeof STATUS',
    '',
  ].join('\n')
}
