import type { Goal, LoadPlan, Measure, Row } from './result.ts'

interface Limit extends LoadPlan {
  readonly name: string
  readonly comparison: string
  readonly server: string
  readonly measure: Measure
  readonly most?: number
  readonly least?: number
}

/** Processor time and latency are compared at a rate that all servers answer, so that none of them waits for its clients. */
const LIMITS: readonly Limit[] = [
  {
    name: 'HTTP, 4 KiB: processor time of a TypeScript model against the echo',
    comparison: 'http 4 KiB',
    server: 'tenon',
    clients: 32,
    rate: 2000,
    measure: 'processor',
    most: 1.4,
  },
  {
    name: 'HTTP, 1 MiB: processor time of a TypeScript model against the echo',
    comparison: 'http 1 MiB',
    server: 'tenon',
    clients: 8,
    rate: 100,
    measure: 'processor',
    most: 1.15,
  },
  {
    name: 'HTTP, 4 KiB: processor time of an isolated kernel against the echo',
    comparison: 'http 4 KiB',
    server: 'tenon, isolated kernel',
    clients: 32,
    rate: 2000,
    measure: 'processor',
    most: 2,
  },
  {
    name: 'HTTP, 4 KiB: p99 of a TypeScript model against the echo at 2000 requests a second',
    comparison: 'http 4 KiB',
    server: 'tenon',
    clients: 32,
    rate: 2000,
    measure: 'p99',
    most: 1.5,
  },
  {
    name: 'HTTPS, 4 KiB: processor time of a TypeScript model against the echo with encryption',
    comparison: 'https 4 KiB',
    server: 'tenon',
    clients: 32,
    rate: 2000,
    measure: 'processor',
    most: 1.15,
  },
  {
    name: 'gRPC, 4 KiB: processor time of a TypeScript model against the echo',
    comparison: 'grpc 4 KiB',
    server: 'tenon',
    clients: 32,
    rate: 2000,
    measure: 'processor',
    most: 1.2,
  },
  {
    name: 'gRPC, 1 MiB: processor time of a TypeScript model against the echo',
    comparison: 'grpc 1 MiB',
    server: 'tenon',
    clients: 4,
    rate: 50,
    measure: 'processor',
    most: 1.2,
  },
  {
    name: 'Batches: requests a second of 32 clients against the same kernel without batches',
    comparison: 'batches',
    server: 'batches of up to 32',
    clients: 32,
    measure: 'requestsPerSecond',
    least: 5,
  },
  {
    name: 'Workers: requests a second of two workers against one, of a kernel that computes for 5 ms',
    comparison: 'workers',
    server: 'two workers',
    clients: 8,
    measure: 'requestsPerSecond',
    least: 1.6,
  },
]

/** Compares what was measured with the limits of the goals. */
export function checkGoals(rows: readonly Row[]): Goal[] {
  return LIMITS.flatMap(({ name, comparison, server, clients, rate, measure, most = Infinity, least = 0 }) => {
    const row = rows.find(
      (one) => one.comparison === comparison && one.server === server && one.clients === clients && one.rate === rate,
    )
    if (row === undefined) return []
    const ratio = row.ratios[measure].median
    const limit = least > 0 ? `at least ${least}` : `at most ${most}`
    return { name, ratio, limit, isMet: ratio <= most && ratio >= least }
  })
}
