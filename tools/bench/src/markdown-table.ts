/** A table in Markdown, whose columns are as wide as their longest cell. */
export function markdownTable(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [heads, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', '\\|')))
  const widths = heads.map((_, column) => Math.max(3, ...cells.map((row) => row[column]!.length)))
  const line = (row: readonly string[]): string => `| ${row.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`
  const [first, ...others] = cells
  return [line(first!), line(widths.map((width) => '-'.repeat(width))), ...others.map(line)].join('\n')
}
