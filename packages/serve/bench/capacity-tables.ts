import { markdownTable, type describeMachine, type Spread } from '@tenon/bench'
import { fillParts } from './tables.ts'

/** The processor time of requests for a model that returns its input, in microseconds. */
export interface ProcessorRow {
  readonly title: string
  readonly size: string
  readonly processor: Spread
}

/** The throughput of a server with some processors. */
export interface ThroughputRow {
  readonly processors: number
  /** Requests a second. */
  readonly rate: Spread
  /** The processor time of a request in microseconds. */
  readonly processor: Spread
}

/** The memory of a server with some models, in bytes. */
export interface MemoryPoint {
  readonly models: number
  readonly server: number
  /** The memory of all processes of the kernels. */
  readonly workers: number
}

/** A run of the measurement. */
export interface Capacity {
  readonly date: string
  readonly node: string
  readonly machine: ReturnType<typeof describeMachine>
  readonly rounds: number
  readonly seconds: number
  /** The time of the kernel of {@link throughput} in microseconds. */
  readonly kernelTime: number
  readonly processor: readonly ProcessorRow[]
  readonly throughput: readonly ThroughputRow[]
  readonly memory: readonly MemoryPoint[]
}

const whole = (value: number): string => Math.round(value).toLocaleString('en-US')

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`

/** The parts of the page that a run writes, by the names of the comments in front of them. */
const PARTS: Readonly<Record<string, (capacity: Capacity) => string>> = {
  'capacity: machine': ({ date, machine, node, rounds, seconds }) =>
    [
      `The figures are from one run on ${date}: ${machine.cores} virtual cores (${machine.cpu}), Linux ${machine.kernel}, Node.js ${node.slice(1)}. The load of the machine`,
      `was ${machine.load.toFixed(2)} before the run. Each row is the median of ${rounds} measurements of ${seconds} seconds, with the quartiles.`,
      ...(machine.load > machine.cores / 2
        ? ['Other programs used the processors meanwhile, so an idle machine answers more requests a second.']
        : []),
    ].join('\n'),
  'capacity: processor': ({ processor }) => {
    const sizes = [...new Set(processor.map(({ size }) => size))]
    const titles = [...new Set(processor.map(({ title }) => title))]
    const cell = (title: string, size: string): string => {
      const { median, low, high } = processor.find((row) => row.title === title && row.size === size)!.processor
      return `${whole(median)} µs (${whole(low)}-${whole(high)})`
    }
    return markdownTable(['request', ...sizes], titles.map((title) => [title, ...sizes.map((size) => cell(title, size))])) // prettier-ignore
  },
  'capacity: throughput': ({ throughput }) =>
    markdownTable(
      ['processors', 'requests a second', 'processor time of a request'],
      throughput.map(({ processors, rate, processor }) => [
        `${processors}`,
        `${whole(rate.median)} (${whole(rate.low)}-${whole(rate.high)})`,
        `${whole(processor.median)} µs (${whole(processor.low)}-${whole(processor.high)})`,
      ]),
    ),
  'capacity: memory': ({ memory }) =>
    markdownTable(
      ['models', 'the server', 'all workers', 'together'],
      memory.map(({ models, server, workers }) => [
        `${models}`,
        mebibytes(server),
        mebibytes(workers),
        mebibytes(server + workers),
      ]),
    ),
  'capacity: example': (capacity) => {
    const cost = capacity.processor.find(({ title, size }) => title === 'HTTP, a kernel' && size === '64 KiB')!
    const own = cost.processor.median
    const total = own + 3000
    const cores = (2000 * total) / 1e6
    const replicas = Math.ceil(cores / (4 * 0.6))
    const [none] = capacity.memory
    const last = capacity.memory.at(-1)!
    const each = (last.server + last.workers - none!.server) / last.models
    return [
      `For example, 2,000 requests a second of 64 KiB over HTTP, for a kernel that computes for 3 ms, need 2,000 × (${whole(own)} µs + 3,000 µs) = ${cores.toFixed(1)} processors. With replicas of`,
      `4 processors that are to be busy for 60 % of the time, these are ${cores.toFixed(1)} / (4 × 0.6) = ${replicas} replicas, and one more, so that one can be replaced or lost: ${replicas + 1}. The memory of`,
      `a replica is that of the server (${mebibytes(none!.server)}), ${mebibytes(each)} and the weights for each instance of a model, and \`--max-in-flight-bytes\`.`,
    ].join('\n')
  },
}

/** Writes the figures of a run into `docs/serving-capacity.md`. @throws as {@link fillParts} */
export const capacityTables = (page: string, capacity: Capacity): string => fillParts(page, PARTS, capacity)
