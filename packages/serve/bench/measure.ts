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
  readonly rounds: number
  readonly seconds: number
}

type Sample = Readonly<Record<Measure, number>>

/** Measures all servers of a comparison in turns, so that what else the machine does affects all of them. */
export async function measure({ name, contestants, loads }: Comparison, { rounds, seconds }: Duration): Promise<Row[]> {
  for (const contestant of contestants) await warmUp(contestant, loads.at(-1)!.clients)
  const rows: Row[] = []
  for (const load of loads) {
    const samples = contestants.map((): Sample[] => [])
    for (let round = 0; round < rounds; round++) {
      for (const [i, contestant] of contestants.entries())
        samples[i]!.push(await measureOnce(contestant, load, seconds))
    }
    const [first = []] = samples
    for (const [i, { name: server }] of contestants.entries()) {
      const own = samples[i]!
      const spreads = ofEach((one) => spreadOf(valuesOf(own, one)))
      const ratios = ofEach((one) => ratioOf(valuesOf(own, one), valuesOf(first, one)))
      rows.push({ comparison: name, server, ...load, ...spreads, ratios })
    }
  }
  return rows
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
