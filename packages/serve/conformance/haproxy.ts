/**
 * The command `pnpm test:haproxy`, which ends replicas behind haproxy while a client sends requests. Two processes of `tenon serve` run behind
 * deploy/haproxy.cfg. Every two seconds one of them is killed; then one after the other ends by SIGTERM and is started again. No request may
 * be lost. TENON_SECONDS is the time of each run, 60 by default; HAPROXY names the program.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { check, report, reportMissing, type Outcome } from '@tenon/config/conformance'
import { createClient } from '../src/client.ts'
import { startTenonServe } from '../test/tenon-serve.ts'

const SECONDS = Number(process.env['TENON_SECONDS'] ?? 60)

/** The requests at the same time. */
const CLIENTS = 16

/** A function that takes 2 ms, so that requests run when a replica ends. */
const MODEL = `
import { setTimeout } from 'node:timers/promises'
import { defineModel } from ${JSON.stringify(join(import.meta.dirname, '../dist/index.js'))}
export default defineModel({
  name: 'same',
  signature: '(x: f32[n]) -> (y: f32[n])',
  instances: 32,
  run: async ({ x }) => (await setTimeout(2), x),
})`

/** A port below those that the system gives to connections, which would take it while its process is started again. */
async function freePort(): Promise<number> {
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

/** One of the processes behind the proxy, which is started again after each end. */
class Replica {
  readonly httpPort: number
  readonly grpcPort: number
  readonly #folder: string
  #process: ChildProcess | undefined

  private constructor(folder: string, httpPort: number, grpcPort: number) {
    this.#folder = folder
    this.httpPort = httpPort
    this.grpcPort = grpcPort
  }

  static async start(folder: string): Promise<Replica> {
    const replica = new Replica(folder, await freePort(), await freePort())
    await replica.#start()
    return replica
  }

  /** Ends the process, and starts it again. @returns the exit code, or the signal. */
  async restart(signal: NodeJS.Signals): Promise<number | string> {
    const ended = once(this.#process!, 'exit') as Promise<[number | null, string]>
    this.#process!.kill(signal)
    const [code, by] = await ended
    await this.#start()
    return code ?? by
  }

  async stop(): Promise<void> {
    const ended = once(this.#process!, 'exit')
    this.#process!.kill('SIGKILL')
    await ended
  }

  async #start(): Promise<void> {
    const ports = ['--http-port', String(this.httpPort), '--grpc-port', String(this.grpcPort)]
    // As long as in deploy/, where haproxy's three checks take three seconds.
    this.#process = startTenonServe([this.#folder, ...ports, '--drain-delay', '5s'])
    this.#process.stdout!.resume()
    let log = ''
    await new Promise<void>((resolve, reject) => {
      this.#process!.stderr!.on('data', (chunk: Buffer) => {
        log += chunk.toString()
        if (log.includes('"listening"')) resolve()
      })
      this.#process!.once('exit', (code) => reject(new Error(`a replica ended with ${code}: ${log}`)))
    })
  }
}

interface Load {
  /** In milliseconds. */
  readonly latencies: number[]
  readonly failures: string[]
}

/** Sends requests until a signal, and checks the answers. */
async function sendUntil(end: AbortSignal, url: string, byteSize: number, retries: number): Promise<Load> {
  const client = createClient(url, { retries, deadline: 30_000 })
  const load: Load = { latencies: [], failures: [] }
  const x = new Float32Array(byteSize / 4).map((_, i) => i)
  const sendOneByOne = async (): Promise<void> => {
    while (!end.aborted) {
      const start = performance.now()
      try {
        const { y } = await client.infer('same', { x })
        if (isSame(y!.data as Float32Array, x)) load.latencies.push(performance.now() - start)
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

/** Runs a load beside something that ends replicas. @throws {Error} with the requests that were lost. */
async function expectNothingLost(
  url: string,
  byteSize: number,
  retries: number,
  disturb: (end: AbortSignal) => Promise<number>,
): Promise<void> {
  const end = new AbortController()
  const timer = setTimeout(() => end.abort(), 1000 * SECONDS)
  const disturbed = disturb(end.signal).finally(() => end.abort())
  const [load, ends] = await Promise.all([sendUntil(end.signal, url, byteSize, retries), disturbed])
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

const killing =
  (replicas: readonly Replica[]) =>
  async (end: AbortSignal): Promise<number> => {
    let count = 0
    for (; !end.aborted; count++) {
      const [start, replica] = [performance.now(), replicas[count % replicas.length]!]
      await replica.restart('SIGKILL')
      await sleep(Math.max(0, 2000 - (performance.now() - start)))
    }
    return count
  }

const draining =
  (replicas: readonly Replica[]) =>
  async (end: AbortSignal): Promise<number> => {
    let count = 0
    for (; !end.aborted; count++) {
      const code = await replicas[count % replicas.length]!.restart('SIGTERM')
      if (code !== 0) throw new Error(`a replica ended with ${code} instead of 0`)
      // Until haproxy has seen that it is ready.
      await sleep(2000)
    }
    return count
  }

async function run(program: string): Promise<Outcome[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tenon-replicas-'))
  mkdirSync(join(folder, 'same'))
  writeFileSync(join(folder, 'same/model.mjs'), MODEL)
  const replicas = [await Replica.start(folder), await Replica.start(folder)] as const
  const [http, grpc] = [await freePort(), await freePort()]
  const proxy = spawn(program, ['-f', join(import.meta.dirname, '../../../deploy/haproxy.cfg')], {
    // Its log says of each replica when it goes and comes.
    stdio: 'ignore',
    env: {
      ...process.env,
      TENON_PROXY_HOST: '127.0.0.1',
      TENON_PROXY_HTTP_PORT: String(http),
      TENON_PROXY_GRPC_PORT: String(grpc),
      ...Object.fromEntries(
        replicas.flatMap(({ httpPort, grpcPort }, i) => [
          [`TENON_${i + 1}_HOST`, '127.0.0.1'],
          [`TENON_${i + 1}_HTTP_PORT`, String(httpPort)],
          [`TENON_${i + 1}_GRPC_PORT`, String(grpcPort)],
        ]),
      ),
    },
  })
  try {
    const url = `http://127.0.0.1:${http}`
    const client = createClient(url)
    while (!(await client.ready())) await sleep(100)
    await client.closeAsync()
    const outcomes: Outcome[] = []
    for (const [name, byteSize] of [
      ['4 KiB', 4096],
      ['1 MiB', 2 ** 20],
    ] as const) {
      outcomes.push(
        await check(`${name}: a SIGKILL each 2 s, a client that tries again`, () =>
          expectNothingLost(url, byteSize, 10, killing(replicas)),
        ),
        await check(`${name}: SIGTERM one after the other, a client that does not try again`, () =>
          expectNothingLost(url, byteSize, 0, draining(replicas)),
        ),
      )
    }
    return outcomes
  } finally {
    proxy.kill('SIGKILL')
    await Promise.all(replicas.map((replica) => replica.stop()))
    rmSync(folder, { recursive: true })
  }
}

const program = process.env['HAPROXY'] ?? 'haproxy'
const found = spawnSync(program, ['-v'], { encoding: 'utf8' })
if (found.status !== 0) reportMissing('pnpm test:haproxy', [`${program}: install haproxy, or set HAPROXY to its path`])
else {
  process.stdout.write(`${found.stdout.split('\n')[0]}\n`)
  report(await run(program))
}
