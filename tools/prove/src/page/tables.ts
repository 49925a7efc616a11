import { formatRatio, markdownTable, type RowResult, timeText } from '@tenon/bench'
import type { InstallSize } from '../install-size.ts'
import type { Finding } from '../verdict.ts'

/** The command that repeats a line, or a line with one contestant. */
const commandFor = (...parts: readonly string[]): string => `\`pnpm prove --only ${parts.join('/')}\``

/** The word for a finding: whether an operand was copied, where that is the question, and otherwise the verdict. */
export function wordFor({ line, verdict, seen }: Finding): string {
  if (verdict === 'not offered') return '–'
  const isQuestion = line === 'copies/typed-array' || line === 'copies/own-memory'
  return isQuestion && (verdict === 'right' || verdict === 'wrong') ? seen : verdict
}

/** A table with a row for each line and a column for each contestant. */
export function findingsTable(findings: readonly Finding[]): string {
  const contestants = [...new Set(findings.map(({ contestant }) => contestant))]
  const names = [...new Set(findings.map(({ line }) => line))]
  if (names.length === 0) return ''
  const rows = names.map((name) => [
    commandFor(name),
    ...contestants.map((contestant) => {
      const found = findings.find((finding) => finding.line === name && finding.contestant === contestant)
      return found === undefined ? '' : wordFor(found)
    }),
  ])
  return markdownTable(['command', ...contestants], rows)
}

/** Writes a figure with its unit. */
export function figureText({ unit }: RowResult, value: number): string {
  if (unit === 'ns' && value < 1000) return `${Number(value.toPrecision(3))} ns`
  return timeText(unit === 'ms' ? value * 1e6 : value).replace('us', 'µs')
}

/** Writes a ratio with its quartiles. */
export function ratioText({ ratios, quartiles }: RowResult, rival: string): string {
  const [low, high] = quartiles.ratios[rival]!
  return `${formatRatio(ratios[rival]!)} (${formatRatio(low)} to ${formatRatio(high)})`
}

/** The name of the runtime of a row. */
export const runtimeOf = ({ node }: RowResult): string => (/^\d/.test(node) ? `Node.js ${node}` : node)

/** A table with a row for each rival of each speed. */
export function speedTable(results: readonly RowResult[]): string {
  if (results.length === 0) return ''
  const rows = results.flatMap((row) =>
    Object.keys(row.peers).map((rival) => [
      runtimeOf(row),
      figureText(row, row.ours),
      rival,
      figureText(row, row.peers[rival]!),
      ratioText(row, rival),
      commandFor(row.name, ...(rival.endsWith(' alone') ? [] : [rival])),
    ]),
  )
  return markdownTable(['runtime', 'Tenon', 'rival', 'its time', 'ratio (quartiles)', 'command'], rows)
}

/** Writes a size. */
export const mebibytes = ({ bytes }: { readonly bytes: number }): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`

/** A table of install sizes, the largest first. */
export function sizesTable(sizes: Readonly<Record<string, InstallSize>>): string {
  const rows = Object.entries(sizes)
    .toSorted(([, a], [, b]) => b.bytes - a.bytes)
    .map(([name, { packages, bytes }]) => [
      name,
      String(packages),
      mebibytes({ bytes }),
      commandFor('install/size', name),
    ])
  return rows.length === 0 ? '' : markdownTable(['contestant', 'packages', 'size', 'command'], rows)
}
