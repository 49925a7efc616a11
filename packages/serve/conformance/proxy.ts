import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, type Client, type ClientOptions } from '../src/client.ts'
import { freePort, type Target } from './load.ts'

/** The ports of a server behind the proxy. */
export interface Backend {
  readonly httpPort: number
  readonly grpcPort: number
  /** Needed with TLS, because checks of haproxy go there. */
  readonly monitoringPort?: number
}

/** TLS in front of haproxy and behind it. */
export interface ProxyTls {
  /** A folder with proxy.pem and ca.pem. */
  readonly folder: string
  /** The name in the certificates of the servers. */
  readonly name: string
  /** Options of clients. */
  readonly options: ClientOptions
}

/** A process of haproxy with deploy/haproxy.cfg, or deploy/secure/haproxy.cfg with TLS. */
export interface Proxy extends Target {
  readonly grpcAddress: string
  stop(): Promise<void>
}

/** Starts haproxy for two servers of this machine, and waits until it sends them requests. @param program that of haproxy. @param isAnswered false if the servers are not to be reached. */
export async function startProxy(
  program: string,
  backends: readonly Backend[],
  tls?: ProxyTls,
  isAnswered = true,
): Promise<Proxy> {
  const [http, grpc] = [await freePort(), await freePort()]
  const file = tls === undefined ? 'haproxy.cfg' : 'secure/haproxy.cfg'
  const child = spawn(program, ['-f', join(import.meta.dirname, '../../../deploy', file)], {
    // Its log says of each replica when it goes and comes.
    stdio: 'ignore',
    env: {
      ...process.env,
      TENON_PROXY_HOST: '127.0.0.1',
      TENON_PROXY_HTTP_PORT: String(http),
      TENON_PROXY_GRPC_PORT: String(grpc),
      ...(tls === undefined ? {} : { TENON_PROXY_TLS: tls.folder }),
      ...Object.fromEntries(
        backends.flatMap(({ httpPort, grpcPort, monitoringPort }, i) => [
          [`TENON_${i + 1}_HOST`, '127.0.0.1'],
          [`TENON_${i + 1}_HTTP_PORT`, String(httpPort)],
          [`TENON_${i + 1}_GRPC_PORT`, String(grpcPort)],
          [`TENON_${i + 1}_MONITORING_PORT`, String(monitoringPort)],
          [`TENON_${i + 1}_NAME`, tls?.name],
        ]),
      ),
    },
  })
  const url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${http}`
  const options = tls?.options ?? {}
  const client = createClient(url, options)
  const isUp = (): Promise<boolean> => (isAnswered ? client.ready() : answers(client))
  while (child.exitCode === null && !(await isUp())) await sleep(100)
  await client.closeAsync()
  if (child.exitCode !== null) throw new Error(`haproxy ended with ${child.exitCode}`)
  const stop = async (): Promise<void> => {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  return { url, options, grpcAddress: `127.0.0.1:${grpc}`, stop }
}

/** Whether a server or a proxy answers, with any status. */
const answers = (client: Client): Promise<boolean> =>
  client.metadata().then(
    () => true,
    (error: unknown) => !String(error).includes('cannot be reached'),
  )
