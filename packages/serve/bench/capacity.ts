/**
 * `pnpm bench:capacity` measures what a server needs: the processor time of requests, the requests a second on one processor and more, and the
 * memory of models. It writes the tables and the plot of `docs/serving-capacity.md`.
 *
 * - `--rounds 5` is the number of measurements of each row, and `--seconds 2` their duration.
 * - `--print` only prints the page's tables.
 */
import { describeMachine, lines, spreadOf, type Spread } from '@tenon/bench'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  capacityTables,
  type Capacity,
  type MemoryPoint,
  type ProcessorRow,
  type ThroughputRow,
} from './capacity-tables.ts'
import { openGrpc, openHttp, type Client } from './clients.ts'
import { sendAlways } from './load.ts'
import { memoryOf, startServer, type ServerProcess } from './processes.ts'
import { grpcRequest, httpRequest } from './requests.ts'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    print: { type: 'boolean' },
  },
})
const rounds = Number(options.rounds)
const seconds = Number(options.seconds)

type Open = () => Promise<readonly Client[]>

/** The processor time of a request in microseconds, and the requests a second. */
async function measureOnce(
  server: ServerProcess,
  open: Open,
  request: Buffer,
): Promise<[processor: number, rate: number]> {
  const clients = await open()
  try {
    const before = server.processorTime()
    const { latencies, seconds: passed } = await sendAlways(clients, request, seconds)
    return [(server.processorTime() - before) / latencies.length, latencies.length / passed]
  } finally {
    for (const client of clients) client.close()
  }
}

async function measure(
  server: ServerProcess,
  open: Open,
  request: Buffer,
): Promise<{ processor: Spread; rate: Spread }> {
  // V8 compiles the server meanwhile.
  for (let i = 0; i < 2; i++) await measureOnce(server, open, request)
  const found: [number, number][] = []
  for (let i = 0; i < rounds; i++) found.push(await measureOnce(server, open, request))
  return { processor: spreadOf(found.map(([time]) => time)), rate: spreadOf(found.map(([, rate]) => rate)) }
}

const SIZES: readonly (readonly [name: string, elements: number])[] = [
  ['4 KiB', 1024],
  ['64 KiB', 2 ** 14],
  ['1 MiB', 2 ** 18],
]

/** Measures the cost of requests without the time of the model: the model returns its input. */
async function measureProcessor(): Promise<ProcessorRow[]> {
  const rows: ProcessorRow[] = []
  for (const [kind, title] of [
    ['infer', 'HTTP, a function'],
    ['isolated', 'HTTP, a kernel'],
    ['grpc-infer', 'gRPC, a function'],
  ] as const) {
    const server = await startServer(kind)
    for (const [size, elements] of SIZES) {
      const isGrpc = kind === 'grpc-infer'
      const request = isGrpc ? grpcRequest('identity', [elements]) : httpRequest('identity', [elements])
      const open: Open = () => (isGrpc ? openGrpc(server.port, 4, 4) : openHttp(server.port, 16, false))
      const { processor } = await measure(server, open, request)
      rows.push({ title, size, processor })
    }
    server.close()
  }
  return rows
}

/** The time of the kernel for the plot, in microseconds. */
const KERNEL_TIME = 2000

/** The requests a second for a kernel that computes, against the processors that the server may use. */
async function measureThroughput(): Promise<ThroughputRow[]> {
  const rows: ThroughputRow[] = []
  const all = availableParallelism()
  const counts = [1, 2, 4, 8, 16, 32, 64].filter((count) => count < all)
  for (const processors of [...counts, all]) {
    const server = await startServer(`compute-${processors}-${KERNEL_TIME}`, processors)
    const request = httpRequest('compute', [1024])
    const { rate, processor } = await measure(server, () => openHttp(server.port, 4 * processors, false), request)
    rows.push({ processors, rate, processor })
    server.close()
  }
  return rows
}

/** The memory of servers with some models, each of which has a process of its own. */
async function measureMemory(): Promise<MemoryPoint[]> {
  const points: MemoryPoint[] = []
  for (const models of [0, 1, 4, 16]) {
    const server = await startServer(`models-${models}`)
    const clients = await openHttp(server.port, 1, false)
    for (let i = 0; i < models; i++) for (let j = 0; j < 20; j++) await clients[0]!.send(httpRequest(`m${i}`, [1024]))
    for (const client of clients) client.close()
    points.push({ models, ...memoryOf(server) })
    server.close()
  }
  return points
}

const machine = describeMachine()
const capacity: Capacity = {
  date: new Date().toISOString().slice(0, 10),
  node: process.version,
  machine,
  rounds,
  seconds,
  kernelTime: KERNEL_TIME,
  processor: await measureProcessor(),
  throughput: await measureThroughput(),
  memory: await measureMemory(),
}
const docs = join(import.meta.dirname, '../../../docs')
const page = join(docs, 'serving-capacity.md')
const text = capacityTables(readFileSync(page, 'utf8'), capacity)
if (options.print === true) process.stdout.write(`${text}\n`)
else {
  writeFileSync(page, text)
  mkdirSync(join(docs, 'serving'), { recursive: true })
  const ideal = 1e6 / capacity.throughput[0]!.processor.median
  const plot = lines('Requests a second for a kernel that computes for 2 ms', {
    x: 'processors of the server',
    y: 'requests a second',
    series: [
      { name: 'measured', points: capacity.throughput.map(({ processors, rate }) => [processors, rate.median]) },
      {
        name: 'processors / processor time of a request',
        points: capacity.throughput.map(({ processors }) => [processors, processors * ideal]),
      },
    ],
  })
  writeFileSync(join(docs, 'serving/capacity.svg'), plot)
}
