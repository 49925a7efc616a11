/**
 * The command `pnpm test:haproxy`, which ends replicas behind haproxy while a client sends requests. Two processes of `tenon serve` run behind
 * deploy/haproxy.cfg. Every two seconds one of them is killed; then one after the other ends by SIGTERM and is started again. No request may
 * be lost. The same follows with deploy/secure/haproxy.cfg: TLS in front of haproxy and behind it, tokens, and replicas whose certificates are not
 * those that haproxy expects. TENON_SECONDS is the time of each run, 60 by default; HAPROXY names the program.
 */
import { spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { check, report, reportMissing, type Outcome } from '@tenon/config/conformance'
import { createClient, ModelUnavailableError } from '../src/client.ts'
import { startTenonServe } from '../test/tenon-serve.ts'
import { checkCallers, makeTls } from './haproxy-tls.ts'
import { expectNothingLost, freePort } from './load.ts'
import { startProxy, type Backend, type Proxy, type ProxyTls } from './proxy.ts'

const SECONDS = Number(process.env['TENON_SECONDS'] ?? 60)

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

/** One of the processes behind the proxy, which is started again after each end. */
class Replica implements Backend {
  readonly httpPort: number
  readonly grpcPort: number
  readonly monitoringPort: number
  readonly #arguments: readonly string[]
  #process: ChildProcess | undefined

  private constructor(args: readonly string[], [http, grpc, monitoring]: readonly [number, number, number]) {
    this.#arguments = args
    this.httpPort = http
    this.grpcPort = grpc
    this.monitoringPort = monitoring
  }

  /** @param args the folder of the models, and further arguments of the command. */
  static async start(...args: readonly string[]): Promise<Replica> {
    const replica = new Replica(args, [await freePort(), await freePort(), await freePort()])
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
    const ports = ['--http-port', this.httpPort, '--grpc-port', this.grpcPort, '--monitoring-port', this.monitoringPort]
    // As long as in deploy/, where haproxy's three checks take three seconds.
    this.#process = startTenonServe([...this.#arguments, ...ports.map(String), '--drain-delay', '5s'])
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

/** Ends replicas behind haproxy in both ways, with small and with large requests. */
async function endReplicas(program: string, args: readonly string[], tls?: ProxyTls): Promise<Outcome[]> {
  const replicas = [await Replica.start(...args), await Replica.start(...args)] as const
  const kind = tls === undefined ? '' : 'TLS, '
  let proxy: Proxy | undefined
  try {
    const started = await startProxy(program, replicas, tls)
    proxy = started
    const outcomes: Outcome[] = []
    for (const [name, byteSize] of [
      ['4 KiB', 4096],
      ['1 MiB', 2 ** 20],
    ] as const) {
      const model = { name: 'same', factor: 1, byteSize }
      outcomes.push(
        await check(`${kind}${name}: a SIGKILL each 2 s, a client that tries again`, () =>
          expectNothingLost(started, model, { seconds: SECONDS, retries: 10 }, killing(replicas)),
        ),
        await check(`${kind}${name}: SIGTERM one after the other, a client that does not try again`, () =>
          expectNothingLost(started, model, { seconds: SECONDS, retries: 0 }, draining(replicas)),
        ),
      )
    }
    if (tls !== undefined) {
      outcomes.push(
        await check('TLS: tokens reach the replicas over HTTP and gRPC, and a request without one gets 401', () =>
          checkCallers(started),
        ),
      )
    }
    return outcomes
  } finally {
    await proxy?.stop()
    await Promise.all(replicas.map((replica) => replica.stop()))
  }
}

/** haproxy must not send requests to a server that only pretends to be a replica. @throws {Error} if a request is answered. */
async function checkName(program: string, args: readonly string[], tls: ProxyTls): Promise<void> {
  const replicas = [await Replica.start(...args), await Replica.start(...args)] as const
  const proxy = await startProxy(program, replicas, { ...tls, name: 'other.test' }, false)
  try {
    const reply = await createClient(proxy.url, { ...tls.options, retries: 0 })
      .metadata()
      .catch((error: unknown) => error)
    if (!(reply instanceof ModelUnavailableError)) throw new Error(`the request must be refused, got ${String(reply)}`)
  } finally {
    await proxy.stop()
    await Promise.all(replicas.map((replica) => replica.stop()))
  }
}

async function run(program: string): Promise<Outcome[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tenon-replicas-'))
  const models = join(folder, 'models')
  mkdirSync(join(models, 'same'), { recursive: true })
  writeFileSync(join(models, 'same/model.mjs'), MODEL)
  try {
    const { tls, flags } = makeTls(folder)
    return [
      ...(await endReplicas(program, [models])),
      ...(await endReplicas(program, [models, ...flags], tls)),
      await check('TLS: a replica with a certificate for another name gets no requests', () =>
        checkName(program, [models, ...flags], tls),
      ),
    ]
  } finally {
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
