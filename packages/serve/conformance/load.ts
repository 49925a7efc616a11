import { once } from 'node:events'
import { createServer } from 'node:net'
import { createClient, type ClientOptions } from '../src/client.ts'

/** The requests at the same time. */
const CLIENTS = 16

/** A port below those that the system gives to connections, which would take it while its process is started again. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(12_000 * Math.random())
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await Promise.race([
      once(server, 'listening').then(() => true),
      once(server, 'error').then(() => false),
    ])
    if (!isFree) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}

interface Load {
  /** In milliseconds. */
  readonly latencies: number[]
  readonly failures: string[]
}

/** The server that gets the requests. */
export interface Target {
  readonly url: string
  /** Options of its clients, such as an authority and a token. */
  readonly options?: ClientOptions
}

/** The model that the requests are for, and what its answers must be. */
export interface LoadedModel {
  readonly name: string
  /** The factor of the answers. */
  readonly factor: number
  readonly byteSize: number
}

/** Sends requests until a signal, and checks the answers. */
async function sendUntil(
  end: AbortSignal,
  { url, options }: Target,
  model: LoadedModel,
  retries: number,
): Promise<Load> {
  const client = createClient(url, { ...options, retries, deadline: 30_000 })
  const load: Load = { latencies: [], failures: [] }
  const x = new Float32Array(model.byteSize / 4).map((_, i) => i % 1024)
  const expected = x.map((value) => model.factor * value)
  const sendOneByOne = async (): Promise<void> => {
    while (!end.aborted) {
      const start = performance.now()
      try {
        const { y } = await client.infer(model.name, { x })
        if (isSame(y!.data as Float32Array, expected)) load.latencies.push(performance.now() - start)
        else load.failures.push('a wrong answer')
      } catch (error) {
        load.failures.push(String(error).split('\n')[0]!)
      }
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, sendOneByOne))
  await client.closeAsync()
  return load
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)

const isSame = (a: Float32Array, b: Float32Array): boolean => bytesOf(a).equals(bytesOf(b))

/**
 * Runs a load beside something that ends replicas.
 *
 * @param seconds the longest time. The load ends before it when `disturb` has ended.
 * @param disturb returns how many replicas it has ended.
 * @throws {Error} with the requests that were lost.
 */
export async function expectNothingLost(
  target: Target,
  model: LoadedModel,
  { seconds, retries }: { readonly seconds: number; readonly retries: number },
  disturb: (end: AbortSignal) => Promise<number>,
): Promise<void> {
  const end = new AbortController()
  const timer = setTimeout(() => end.abort(), 1000 * seconds)
  const disturbed = disturb(end.signal).finally(() => end.abort())
  const [load, ends] = await Promise.all([sendUntil(end.signal, target, model, retries), disturbed])
  clearTimeout(timer)
  const { latencies, failures } = load
  const sorted = latencies.toSorted((a, b) => a - b)
  const at = (part: number): string => (sorted[Math.floor(part * (sorted.length - 1))] ?? Number.NaN).toFixed(1)
  process.stdout.write(
    `        ${latencies.length} answered, ${failures.length} lost, ${ends} ends; p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms\n`,
  )
  if (latencies.length === 0) throw new Error('nothing was answered')
  if (failures.length > 0)
    throw new Error(`${failures.length} requests were lost:\n${[...new Set(failures)].join('\n')}`)
}
