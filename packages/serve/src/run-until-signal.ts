import { setTimeout } from 'node:timers/promises'
import type { InferenceServer } from './server.ts'

/** The options of {@link runUntilSignal}. */
export interface RunOptions {
  /** How long requests are still answered after the signal, in milliseconds. Load balancers need it to notice. Default: 0. */
  readonly drainDelay?: number
  /** How long requests in progress may take after that, in milliseconds. Default: 30,000. */
  readonly drainTimeout?: number
}

/**
 * How a server ended: all requests were answered, or not before the end of `drainTimeout`; a second signal came; or the processes of
 * every model crashed again and again.
 */
export type ServerEnd = 'drained' | 'not drained' | 'interrupted' | 'crash loop'

/** How often a server is asked whether its models still run, in milliseconds. */
const CHECK_INTERVAL = 1000

/**
 * Runs a server until SIGTERM or SIGINT, and closes it. A second signal returns at once, and leaves the rest to the end of the process.
 * Writes a line to the server's log when the server listens, and when it ends.
 *
 * @example
 * const server = await createServer({ models: [double], http: { port: 0 } })
 * setTimeout(() => process.kill(process.pid, 'SIGTERM'), 100) // as a container's runtime does
 * await runUntilSignal(server, { drainDelay: 50 }) // 'drained'
 */
export async function runUntilSignal(server: InferenceServer, options: RunOptions = {}): Promise<ServerEnd> {
  const { drainDelay = 0, drainTimeout = 30_000 } = options
  const signals = new Signals()
  const { httpAddress, grpcAddress, monitoringAddress } = server
  server.log.write('info', 'listening', {
    http: `${server.isEncrypted ? 'https' : 'http'}://${httpAddress}`,
    ...(grpcAddress === undefined ? {} : { grpc: grpcAddress }),
    ...(monitoringAddress === undefined ? {} : { monitoring: `http://${monitoringAddress}` }),
  })
  let check: NodeJS.Timeout | undefined
  const crashed = new Promise<undefined>((resolve) => {
    check = setInterval(() => server.isCrashed && resolve(undefined), CHECK_INTERVAL)
  })
  try {
    const first = await Promise.race([signals.next(), crashed])
    if (first === undefined) {
      server.log.write('error', 'the processes of all models crash again and again')
      await server.closeAsync({ deadline: drainTimeout })
      return 'crash loop'
    }
    server.log.write('info', 'draining', { signal: first })
    const end = await Promise.race([
      drain(server, drainDelay, drainTimeout),
      signals.next().then(() => 'interrupted' as const),
    ])
    server.log.write('info', end)
    return end
  } finally {
    clearInterval(check)
    signals.close()
  }
}

async function drain(server: InferenceServer, delay: number, timeout: number): Promise<ServerEnd> {
  server.announceEnd()
  await setTimeout(delay)
  return (await server.closeAsync({ deadline: timeout })) ? 'drained' : 'not drained'
}

/** The signals that end a program, while somebody waits for them. */
class Signals {
  readonly #waiting: ((signal: NodeJS.Signals) => void)[] = []
  readonly #listener = (signal: NodeJS.Signals): void => {
    for (const resolve of this.#waiting.splice(0)) resolve(signal)
  }

  constructor() {
    process.on('SIGTERM', this.#listener)
    process.on('SIGINT', this.#listener)
  }

  next(): Promise<NodeJS.Signals> {
    return new Promise((resolve) => void this.#waiting.push(resolve))
  }

  close(): void {
    process.off('SIGTERM', this.#listener)
    process.off('SIGINT', this.#listener)
  }
}
