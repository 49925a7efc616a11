import { ToolError } from './tool-error.ts'

interface StatusRow {
  readonly name: string
  readonly value: number
  readonly text: string
}

/**
 * Reads the rows of an X-macro table: `TN_STATUS(NAME, value, "text")` and comments, nothing else.
 *
 * @throws {ToolError} if a line is something else, or a name or a value is there twice.
 */
export function parseStatusTable(source: string): StatusRow[] {
  const withoutComments = source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '')
  const rows = withoutComments
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
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

/** The TypeScript file for a status table. */
export function renderStatusTable(rows: readonly StatusRow[], source: string): string {
  const lines = rows.map(({ name, value, text }) => `  ${name}: { value: ${value}, text: ${quote(text)} },`)
  return [
    `/** The status codes of the C core, by name. Made from ${source} by native-build: do not edit. */`,
    'export const STATUS = {',
    ...lines,
    '} as const',
    '',
    '/** The name of a status code of the C core, without `TN_`. */',
    'export type StatusName = keyof typeof STATUS',
    '',
  ].join('\n')
}

function quote(text: string): string {
  return text.includes("'") ? `"${text}"` : `'${text}'`
}
