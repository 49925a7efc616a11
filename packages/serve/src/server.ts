import { ArgumentError } from '@tenon/core'
import { checkOptions, wrongType } from '@tenon/core/internal'
import type { Socket } from 'node:net'
import { GrpcServer, type GrpcOptions } from './grpc/grpc-server.ts'
import { HttpServer, type HttpOptions } from './http/http-server.ts'
import { logLine } from './log.ts'
import { isModel, type Model } from './model/model.ts'
import { Metrics } from './service/metrics.ts'
import { ModelRegistry } from './service/model-registry.ts'
import { ServerLife, type LogError } from './service/server-state.ts'
import { version } from './version.ts'

/** The options of {@link createServer}. */
export interface ServerOptions {
  readonly models: readonly Model[]
  readonly http?: HttpOptions
  /** Default: false, no gRPC. */
  readonly grpc?: GrpcOptions | false
  /** The name in the metadata of the server. Default: `tenon`. */
  readonly name?: string
  /** The most bytes of one request. Default: 64 MiB. */
  readonly maxRequestBytes?: number
  /** The longest time in which a request must arrive, in milliseconds. Default: 30,000. */
  readonly requestTimeout?: number
  /** Receives each error that a client was told of. By default, one line of JSON on stderr. */
  readonly logError?: LogError
}

const OPTIONS = ['grpc', 'http', 'logError', 'maxRequestBytes', 'models', 'name', 'requestTimeout'] as const

/** The most bytes of the JSON of one request. */
const JSON_BYTES = 16 * 2 ** 20

/** A running server. Made by {@link createServer}. */
export class InferenceServer implements AsyncDisposable {
  readonly #http: HttpServer
  readonly #grpc: GrpcServer | undefined
  readonly #life: ServerLife

  /** @internal */
  constructor(http: HttpServer, grpc: GrpcServer | undefined, life: ServerLife) {
    this.#http = http
    this.#grpc = grpc
    this.#life = life
  }

  /** The port on which HTTP is answered. */
  get port(): number {
    return this.#http.port
  }

  /** The port on which gRPC is answered, or undefined without gRPC. */
  get grpcPort(): number | undefined {
    return this.#grpc?.port
  }

  /** Says that the server is not ready, so that load balancers send no new requests. Requests are still answered. */
  announceEnd(): void {
    this.#life.announceEnd()
    this.#http.endConnections()
  }

  /**
   * Stops the server. New requests get the status 503 or UNAVAILABLE, and those in progress are answered.
   *
   * @param options `deadline` is the number of milliseconds after which connections are ended. Default: 30,000.
   * @returns whether all requests were answered before the deadline.
   */
  async closeAsync(options: { readonly deadline?: number } = {}): Promise<boolean> {
    const { deadline = 30_000 } = options
    this.announceEnd()
    this.#life.close()
    let isDrained = true
    const timer = setTimeout(() => {
      isDrained = false
      this.#http.abort()
      this.#grpc?.abort()
    }, deadline)
    await Promise.all([this.#http.close(), this.#grpc?.close()])
    clearTimeout(timer)
    return isDrained
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#life.isOpen) await this.closeAsync()
  }
}

/**
 * Starts a server for models over the Open Inference Protocol. It listens on this machine only, unless `http.host` and `grpc.host` say
 * otherwise.
 *
 * @throws (rejects with) {ArgumentError} if an option is not valid, or two models have the same name and version.
 * @throws (rejects with) the system's error if an address is in use.
 * @example
 * await using server = await createServer({ models: [double], http: { port: 0 } })
 * await fetch(`http://127.0.0.1:${server.port}/v2/models/double`)
 */
export async function createServer(options: ServerOptions): Promise<InferenceServer> {
  const given = checkOptions<ServerOptions>(options, OPTIONS)
  const {
    grpc = false,
    models,
    logError = logToStderr,
    maxRequestBytes = 64 * 2 ** 20,
    requestTimeout = 30_000,
  } = given
  if (!Array.isArray(models) || !models.every(isModel)) {
    throw wrongType('models', 'an array of models', models, 'Make models with defineModel().')
  }
  checkAtLeastOne(maxRequestBytes, 'maxRequestBytes')
  checkAtLeastOne(requestTimeout, 'requestTimeout')
  const registry = new ModelRegistry(models)
  const connections = new Set<Socket>()
  const life = new ServerLife()
  const state = {
    name: given.name ?? 'tenon',
    version,
    registry,
    limits: { bytes: maxRequestBytes, jsonBytes: Math.min(JSON_BYTES, maxRequestBytes), timeout: requestTimeout },
    metrics: new Metrics(registry, () => connections.size),
    life,
    logError,
  }
  const http = await HttpServer.listen(state, given.http ?? {}, connections)
  try {
    return new InferenceServer(http, grpc === false ? undefined : await GrpcServer.listen(state, grpc), life)
  } catch (error) {
    await http.close()
    throw error
  }
}

function checkAtLeastOne(value: unknown, name: string): void {
  if (typeof value === 'number' && value >= 1) return
  throw new ArgumentError(`${name} must be a number from 1, got ${String(value)}`)
}

const logToStderr: LogError = (error, { method, path }) => {
  const { name, message, stack } =
    error instanceof Error ? error : { name: 'Error', message: String(error), stack: undefined }
  logLine('error', message, { method, path, name, stack })
}
