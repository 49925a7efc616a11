import { ratioOf, spreadOf, type Spread } from '@tenon/bench'
import type { Client } from './clients.ts'
import { percentile, sendAlways, sendAtRate } from './load.ts'
import type { ServerProcess } from './processes.ts'
import { MEASURES, type LoadPlan, type Measure, type Row } from './result.ts'

/** A server in a comparison, and the requests that it gets. */
export interface Contestant {
  readonly name: string
  readonly server: ServerProcess
  readonly request: Buffer
  open(clients: number): Promise<readonly Client[]>
}

/** Servers that answer the same requests. The others are compared with the first one. */
export interface Comparison {
  readonly name: string
  readonly contestants: readonly Contestant[]
  readonly loads: readonly LoadPlan[]
}

/** How often and how long everything is measured. */
export interface Duration {
  /** How often the servers are started anew. Two processes of the same server differ by a fifth, for as long as they run. */
  readonly starts: number
  /** The rounds after each start. */
  readonly rounds: number
  readonly seconds: number
}

type Sample = Readonly<Record<Measure, number>>

/** Measures all servers of a comparison in turns, so that what else the machine does affects all of them. @param open starts them. */
export async function measure(open: () => Promise<Comparison>, duration: Duration): Promise<Row[]> {
  const starts: (readonly Measured[])[] = []
  for (let start = 0; start < duration.starts; start++) {
    const comparison = await open()
    starts.push(await measureStart(comparison, duration))
    for (const { server } of comparison.contestants) server.close()
  }
  const [earliest = []] = starts
  const all = earliest.map((row, i): Measured => ({ ...row, samples: starts.flatMap((start) => start[i]!.samples) }))
  return all.map(({ samples, ...row }) => {
    const first = all.find(({ clients, rate }) => clients === row.clients && rate === row.rate)!.samples
    const spreads = ofEach((one) => spreadOf(valuesOf(samples, one)))
    return { ...row, ...spreads, ratios: ofEach((one) => ratioOf(valuesOf(samples, one), valuesOf(first, one))) }
  })
}

/** The samples of one server under one load. */
interface Measured extends Pick<Row, 'comparison' | 'server' | 'clients' | 'rate'> {
  readonly samples: readonly Sample[]
}

/** Measures servers that were just started. */
async function measureStart(
  { name, contestants, loads }: Comparison,
  { rounds, seconds }: Duration,
): Promise<readonly Measured[]> {
  for (const contestant of contestants) await warmUp(contestant, loads.at(-1)!.clients)
  const measured: Measured[] = []
  for (const load of loads) {
    const samples = contestants.map((): Sample[] => [])
    for (let round = 0; round < rounds; round++) {
      for (const [i, contestant] of contestants.entries())
        samples[i]!.push(await measureOnce(contestant, load, seconds))
    }
    for (const [i, { name: server }] of contestants.entries())
      measured.push({ comparison: name, server, ...load, samples: samples[i]! })
  }
  return measured
}

/** The requests after which V8 has compiled a server, and the most seconds for them. */
const WARM_REQUESTS = 20_000
const LONGEST_WARM_UP = 8

async function warmUp(contestant: Contestant, clients: number): Promise<void> {
  let requests = 0
  for (let seconds = 0; seconds < LONGEST_WARM_UP && requests < WARM_REQUESTS; seconds += 2) {
    const { requestsPerSecond } = await measureOnce(contestant, { clients }, 2)
    requests += 2 * requestsPerSecond
  }
}

const valuesOf = (samples: readonly Sample[], measured: Measure): number[] => samples.map((sample) => sample[measured])

const ofEach = (spread: (measured: Measure) => Spread): Record<Measure, Spread> =>
  Object.fromEntries(MEASURES.map((one) => [one, spread(one)])) as Record<Measure, Spread>

async function measureOnce({ server, request, open }: Contestant, load: LoadPlan, seconds: number): Promise<Sample> {
  const clients = await open(load.clients)
  try {
    for (const client of clients) await client.send(request)
    const before = server.processorTime()
    const seen = await (load.rate === undefined
      ? sendAlways(clients, request, seconds)
      : sendAtRate(clients, request, load.rate, seconds))
    const count = seen.latencies.length
    return {
      processor: (server.processorTime() - before) / count,
      requestsPerSecond: count / seen.seconds,
      p50: percentile(seen, 0.5),
      p99: percentile(seen, 0.99),
    }
  } finally {
    for (const client of clients) client.close()
  }
}
