import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '../src/client.ts'
import { freePort } from './load.ts'

/** The ports of a server behind the proxy. */
export interface Backend {
  readonly httpPort: number
  readonly grpcPort: number
}

/** A process of haproxy with deploy/haproxy.cfg. */
export interface Proxy {
  readonly url: string
  stop(): Promise<void>
}

/** Starts haproxy for two servers of this machine, and waits until it sends them requests. @param program that of haproxy. */
export async function startProxy(program: string, backends: readonly Backend[]): Promise<Proxy> {
  const [http, grpc] = [await freePort(), await freePort()]
  const child = spawn(program, ['-f', join(import.meta.dirname, '../../../deploy/haproxy.cfg')], {
    // Its log says of each replica when it goes and comes.
    stdio: 'ignore',
    env: {
      ...process.env,
      TENON_PROXY_HOST: '127.0.0.1',
      TENON_PROXY_HTTP_PORT: String(http),
      TENON_PROXY_GRPC_PORT: String(grpc),
      ...Object.fromEntries(
        backends.flatMap(({ httpPort, grpcPort }, i) => [
          [`TENON_${i + 1}_HOST`, '127.0.0.1'],
          [`TENON_${i + 1}_HTTP_PORT`, String(httpPort)],
          [`TENON_${i + 1}_GRPC_PORT`, String(grpcPort)],
        ]),
      ),
    },
  })
  const url = `http://127.0.0.1:${http}`
  const client = createClient(url)
  while (child.exitCode === null && !(await client.ready())) await sleep(100)
  await client.closeAsync()
  if (child.exitCode !== null) throw new Error(`haproxy ended with ${child.exitCode}`)
  const stop = async (): Promise<void> => {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  return { url, stop }
}
