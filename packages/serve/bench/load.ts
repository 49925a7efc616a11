import { setImmediate, setTimeout } from 'node:timers/promises'
import type { Client } from './clients.ts'

/** The answers and latencies that clients observed. */
export interface Load {
  readonly seconds: number
  /** Milliseconds of each request, in rising order. */
  readonly latencies: Float64Array
}

/** Each client sends its next request when it has the answer to the last one. */
export async function sendAlways(clients: readonly Client[], request: Buffer, seconds: number): Promise<Load> {
  const latencies: number[] = []
  const start = performance.now()
  const end = start + 1000 * seconds
  const work = async (client: Client): Promise<void> => {
    for (let sent = performance.now(); sent < end;) {
      await client.send(request)
      const answered = performance.now()
      latencies.push(answered - sent)
      sent = answered
    }
  }
  await Promise.all(clients.map(work))
  return loadOf(latencies, start)
}

/**
 * Requests start at equal distances, each on a connection that is free. A request that has to wait for a free connection is late, and its time
 * counts from the moment at which it had to start: a server that stops for a while is not spared the requests of this time.
 */
export async function sendAtRate(
  clients: readonly Client[],
  request: Buffer,
  rate: number,
  seconds: number,
): Promise<Load> {
  const latencies: number[] = []
  const free = [...clients]
  const late: number[] = []
  const answers: Promise<void>[] = []
  const count = Math.round(rate * seconds)
  const work = async (client: Client, first: number): Promise<void> => {
    for (let due: number | undefined = first; due !== undefined; due = late.shift()) {
      await client.send(request)
      latencies.push(performance.now() - due)
    }
    free.push(client)
  }
  const start = performance.now()
  for (let i = 0; i < count;) {
    const due = start + (1000 * i) / rate
    const rest = due - performance.now()
    if (rest > 0) {
      // A timer is at least a millisecond late.
      await (rest > 3 ? setTimeout(rest - 2) : setImmediate())
      continue
    }
    const client = free.shift()
    if (client === undefined) late.push(due)
    else answers.push(work(client, due))
    i++
  }
  await Promise.all(answers)
  return loadOf(latencies, start)
}

function loadOf(latencies: readonly number[], start: number): Load {
  return { seconds: (performance.now() - start) / 1000, latencies: Float64Array.from(latencies).toSorted() }
}

/** @param fraction 0.5 for the median. */
export const percentile = ({ latencies }: Load, fraction: number): number =>
  latencies[Math.min(latencies.length - 1, Math.floor(fraction * latencies.length))]!
