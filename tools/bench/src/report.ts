import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkoutCommit } from '@tenon/config/checkout-commit'
import { lines } from '../../../packages/tenon/src/benchmark/draw.ts'
import type { GrowthResult } from './growth/measure-growth.ts'
import type { Machine } from '../../../packages/tenon/src/benchmark/machine.ts'
import { markdownTable } from './markdown-table.ts'
import { drawPlots } from './plots.ts'
import type { RowResult } from './result.ts'
import { timeText } from './units.ts'

/** Where and when something was measured. */
export interface Origin {
  readonly machine: Machine
  /** The versions of what was measured, by name. */
  readonly versions?: Readonly<Record<string, string>>
  /** In the form of ISO 8601. */
  readonly date: string
}

/**
 * Writes the results of `pnpm bench` to `bench.json` and, as tables, to `bench.md` of a directory, and a plot for each kind of plot that
 * has rows among them.
 *
 * @throws the system's error if the directory cannot be written.
 */
export function writeBenchReport(directory: string, origin: Origin, results: readonly RowResult[]): void {
  const packages = [...new Set(results.map((result) => result.package))]
  const tables = packages.flatMap((name) => {
    const rows = results.filter((result) => result.package === name).flatMap(rowsOf)
    return [`## ${name}`, '', markdownTable(['row', 'Node.js', 'Tenon', 'peer', 'ratio (quartiles)'], rows), '']
  })
  const intro = [
    '# Benchmarks',
    '',
    ...describeOrigin(origin, 'pnpm bench'),
    'A ratio is the time of Tenon through that of the peer, or the throughput where the unit is GB/s. Both are measured in turns in one process.',
    'The median of all rounds is in front, and the quartiles are in parentheses.',
    '',
  ]
  const plots = drawPlots(results, noteOf(origin, results))
  const images = plots.flatMap(({ name, title }) => [`![${title}](${name}.svg)`, ''])
  write(directory, 'bench', { ...origin, results }, [...intro, ...images, ...tables])
  for (const { name, svg } of plots) writeFileSync(join(directory, `${name}.svg`), svg)
}

/** Writes the results of `pnpm bench:growth` to `growth.json`, `growth.md` and `growth.svg` of a directory. */
export function writeGrowthReport(directory: string, origin: Origin, results: readonly GrowthResult[]): void {
  const rows = results.map(({ package: of, name, points, exponent, reason = '' }) => [
    of,
    name,
    points.map(({ count, nanoseconds }) => `${count.toLocaleString('en')}: ${timeText(nanoseconds)}`).join(', '),
    exponent.toFixed(2),
    reason,
  ])
  const text = [
    '# Growth',
    '',
    ...describeOrigin(origin, 'pnpm bench:growth'),
    'An exponent of 1 means twice the time for twice the number. Below 1, a fixed cost of each call is shared.',
    '',
    markdownTable(['package', 'number of', 'time of one call', 'exponent', 'reason'], rows),
    '',
    '![The time of one call against the number of things that it has](growth.svg)',
    '',
  ]
  write(directory, 'growth', { ...origin, results }, text)
  const series = results.map(({ name, points }) => ({
    name,
    points: points.map(({ count, nanoseconds }) => [count, nanoseconds / 1000] as const),
  }))
  const plot = { x: 'number', y: 'time of one call in microseconds', series }
  writeFileSync(join(directory, 'growth.svg'), lines('The time of one call against what it has', plot))
}

/** Returns the origin in one line, for the foot of a plot. */
export function noteOf({ machine, date }: Origin, results: readonly RowResult[]): string {
  const nodes = [...new Set(results.map(({ node }) => node))].join(', ')
  return `${date.slice(0, 10)}: ${machine.cpu}, ${machine.cores} cores, Node.js ${nodes}, ${machine.load} running processes before the start`
}

function describeOrigin({ machine, versions = {}, date }: Origin, command: string): string[] {
  const { cpu, cores, memoryBytes, platform, kernel, load } = machine
  const versionsText = Object.entries(versions)
    .map((version) => version.join(' '))
    .join(', ')
  const memory = `${Math.round(memoryBytes / 2 ** 30)} GiB`
  return [
    `Measured by \`${command} --report\` on ${date.slice(0, 10)}: ${cpu}, ${cores} cores, ${memory}, ${platform}, kernel ${kernel}; ${load} processes ran`,
    `on average in the minute before.${versionsText === '' ? '' : ` Versions: ${versionsText}.`}`,
    '',
    `- Commit: ${checkoutCommit(import.meta.dirname)}`,
    '',
  ]
}

function rowsOf({ name, node, unit, ours, peers, ratios, quartiles }: RowResult): string[][] {
  const figure = (value: number): string => (unit === 'ns' ? timeText(value) : `${value.toPrecision(3)} ${unit}`)
  const own = figure(ours)
  const compared = Object.entries(peers).map(([peer, value]) => {
    const [low, high] = quartiles.ratios[peer]!
    const ratio = `${ratios[peer]!.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`
    return [name, node, own, `${peer}: ${figure(value)}`, ratio]
  })
  return compared.length > 0 ? compared : [[name, node, own, '', '']]
}

function write(directory: string, name: string, json: object, text: readonly string[]): void {
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, `${name}.json`), `${JSON.stringify(json, undefined, 2)}\n`)
  writeFileSync(join(directory, `${name}.md`), text.join('\n'))
}
