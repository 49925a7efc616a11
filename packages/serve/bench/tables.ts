import { markdownTable, type Spread } from '@tenon/bench'
import type { Result, Row } from './result.ts'

/** The parts of `docs/benchmarks.md` that a run of the benchmark writes, by the names of the comments in front of them. */
const PARTS: Readonly<Record<string, (result: Result) => string>> = {
  'serving: machine': describeRun,
  'serving: http 4 KiB': (result) => serversTable(result, 'http 4 KiB', 2000),
  'serving: http 1 MiB': (result) => serversTable(result, 'http 1 MiB', 100),
  'serving: grpc 4 KiB': (result) => serversTable(result, 'grpc 4 KiB', 2000),
  'serving: grpc 1 MiB': (result) => serversTable(result, 'grpc 1 MiB', 50),
  'serving: batches': batchesTable,
  'serving: workers': workersTable,
  'serving: goals': goalsTable,
}

/** Writes the figures of a run into the page of benchmarks. @throws as {@link fillParts} */
export const fillTables = (page: string, result: Result): string => fillParts(page, PARTS, result)

/**
 * Writes the figures of a run into a page. Each part is the paragraph or table behind a comment with its name.
 *
 * @throws {Error} if the page has no place for a part, or the run has no rows for it.
 */
export function fillParts<Run>(page: string, parts: Readonly<Record<string, (run: Run) => string>>, run: Run): string {
  return Object.entries(parts).reduce((text, [name, write]) => {
    const place = new RegExp(`(<!-- ${name} -->\n\n)(?:.+\n)+`)
    if (!place.test(text)) throw new Error(`The page must have the comment <!-- ${name} --> and text behind it.`)
    return text.replace(place, (_, head: string) => `${head}${write(run)}\n`)
  }, page)
}

function describeRun({ date, machine, node, fastapi, starts, rounds, seconds }: Result): string {
  const { cpu, cores, memoryBytes, kernel, load } = machine
  return [
    `The figures are from one run on ${date}: ${cores} virtual cores (${cpu}), ${Math.round(memoryBytes / 2 ** 30)} GiB of memory, Linux ${kernel},`,
    `Node.js ${node.slice(1)}, ${fastapi}. The load of the machine was ${load.toFixed(2)} before the run, of which each row is`,
    `the median of ${starts * rounds} measurements of ${seconds} seconds, ${rounds} after each of ${starts} starts of the servers.`,
  ].join('\n')
}

function serversTable({ rows }: Result, comparison: string, rate: number): string {
  const own = rows.filter((row) => row.comparison === comparison)
  const atRate = own.filter((row) => row.rate === rate)
  const unlimited = own.filter((row) => row.rate === undefined)
  if (atRate.length === 0) throw new Error(`The result must have rows of ${comparison} at ${rate} requests a second.`)
  const heads = ['server', 'CPU of a request', 'against the echo', 'p50', 'p99', 'most requests/s']
  const lines = atRate.map(({ server, processor, p50, p99, ratios }, i) => {
    const most = unlimited.find((row) => row.server === server)!.requestsPerSecond.median
    return [
      server,
      `${grouped(processor.median)} µs`,
      i === 0 ? '1' : withQuartiles(ratios.processor),
      `${p50.median.toFixed(2)} ms`,
      `${p99.median.toPrecision(2)} ms`,
      grouped(most),
    ]
  })
  return markdownTable(heads, lines)
}

function batchesTable({ rows }: Result): string {
  const own = rows.filter(({ comparison }) => comparison === 'batches')
  const servers = [...new Set(own.map(({ server }) => server))]
  const lines = [...new Set(own.map(({ clients }) => clients))].map((clients) => [
    String(clients),
    ...servers.map((server) => grouped(rowOf(own, server, clients).requestsPerSecond.median)),
  ])
  return markdownTable(['clients', ...servers], lines)
}

function workersTable({ rows }: Result): string {
  const own = rows.filter(({ comparison }) => comparison === 'workers')
  const lines = own.map(({ server, requestsPerSecond, ratios, p50, p99 }, i) => {
    return [
      server,
      grouped(requestsPerSecond.median),
      i === 0 ? '1' : withQuartiles(ratios.requestsPerSecond),
      `${p50.median.toFixed(1)} ms`,
      `${p99.median.toFixed(1)} ms`,
    ]
  })
  return markdownTable(['', 'requests/s', 'against one worker', 'p50', 'p99'], lines)
}

function rowOf(rows: readonly Row[], server: string, clients: number): Row {
  return rows.find((row) => row.server === server && row.clients === clients)!
}

function goalsTable({ goals }: Result): string {
  const lines = goals.map(({ name, limit, ratio, isMet }) => [name, limit, ratio.toFixed(2), isMet ? 'met' : 'missed'])
  return markdownTable(['ratio', 'limit', 'measured', ''], lines)
}

const withQuartiles = ({ median, low, high }: Spread): string =>
  `${median.toFixed(2)} (${low.toFixed(2)} – ${high.toFixed(2)})`

const grouped = (value: number): string => Math.round(value).toLocaleString('en-US')
