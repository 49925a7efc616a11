/**
 * `node packages/serve/bench/publish.ts RESULT.json` draws `docs/serving/throughput.svg`, `latency.svg` and `batching.svg`, and writes the tables
 * of serving in `docs/benchmarks.md`, from what `pnpm bench:serve --output RESULT.json` has written.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bars, lines, type Series } from '@tenon/bench'
import type { Result, Row } from './result.ts'
import { fillTables } from './tables.ts'

const [file] = process.argv.slice(2)
if (file === undefined) throw new Error('The first argument must be the file of a result.')
const result = JSON.parse(readFileSync(file, 'utf8')) as Result
const docs = join(import.meta.dirname, '../../../docs')
const folder = join(docs, 'serving')
mkdirSync(folder, { recursive: true })

const rowsOf = (comparison: string, isWanted: (row: Row) => boolean): Row[] => {
  const rows = result.rows.filter((row) => row.comparison === comparison && isWanted(row))
  if (rows.length === 0) throw new Error(`The result must have rows of the comparison ${JSON.stringify(comparison)}.`)
  return rows
}

/** One series for each server, with points of two numbers of its rows. */
function seriesOf(rows: readonly Row[], x: (row: Row) => number, y: (row: Row) => number): Series[] {
  const names = [...new Set(rows.map(({ server }) => server))]
  return names.map((name) => ({
    name,
    points: rows.filter(({ server }) => server === name).map((row) => [x(row), y(row)]),
  }))
}

const throughput = ['http 4 KiB', 'http 1 MiB'].map((name) => ({
  title: `${name.replace('http', 'HTTP,')}, ${name.endsWith('KiB') ? 32 : 8} connections`,
  bars: rowsOf(name, ({ rate }) => rate === undefined).map(({ server, requestsPerSecond }) => ({
    name: server,
    value: requestsPerSecond.median,
    low: requestsPerSecond.low,
    high: requestsPerSecond.high,
  })),
}))
const atRates = rowsOf('http 4 KiB', ({ rate }) => rate !== undefined)
const batches = rowsOf('batches', () => true)
const plots: Readonly<Record<string, string>> = {
  throughput: bars('Requests a second, as many as possible', throughput),
  latency: lines('99th percentile of the latency, HTTP, 4 KiB', {
    x: 'requests a second',
    y: 'milliseconds',
    series: seriesOf(
      atRates,
      ({ rate }) => rate!,
      ({ p99 }) => p99.median,
    ),
  }),
  batching: lines('A kernel that takes 1 ms for each call', {
    x: 'clients at the same time',
    y: 'requests a second',
    series: seriesOf(
      batches,
      ({ clients }) => clients,
      ({ requestsPerSecond }) => requestsPerSecond.median,
    ),
  }),
}
for (const [name, svg] of Object.entries(plots)) writeFileSync(join(folder, `${name}.svg`), svg)

const page = join(docs, 'benchmarks.md')
writeFileSync(page, fillTables(readFileSync(page, 'utf8'), result))
