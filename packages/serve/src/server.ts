import { ArgumentError } from '@tenon/core'
import { checkOptions, wrongType } from '@tenon/core/internal'
import type { Socket } from 'node:net'
import { GrpcServer, type GrpcOptions } from './grpc/grpc-server.ts'
import { HttpServer, type HttpOptions } from './http/http-server.ts'
import { logLine } from './log.ts'
import { isModel, type Model } from './model/model.ts'
import type { ModelSource } from './repository/model-source.ts'
import { ModelControl } from './service/model-control.ts'
import { Metrics } from './service/metrics.ts'
import { ModelRegistry } from './service/model-registry.ts'
import { ServerLife, type LogError } from './service/server-state.ts'
import { version } from './version.ts'

/** The options of {@link createServer}. */
export interface ServerOptions {
  /** Models that the server has as long as it runs. */
  readonly models?: readonly Model[]
  /** Further models, which the server loads and closes. */
  readonly repository?: ModelSource
  /** `explicit` loads nothing of the repository at the start, and lets clients load and unload. Default: `none`. */
  readonly modelControl?: 'none' | 'explicit'
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

const OPTIONS = [
  'grpc',
  'http',
  'logError',
  'maxRequestBytes',
  'modelControl',
  'models',
  'name',
  'repository',
  'requestTimeout',
] as const

/** The most bytes of the JSON of one request. */
const JSON_BYTES = 16 * 2 ** 20

/** A running server. Made by {@link createServer}. */
export class InferenceServer implements AsyncDisposable {
  readonly #http: HttpServer
  readonly #grpc: GrpcServer | undefined
  readonly #life: ServerLife
  readonly #control: ModelControl

  /** @internal */
  constructor(http: HttpServer, grpc: GrpcServer | undefined, life: ServerLife, control: ModelControl) {
    this.#http = http
    this.#grpc = grpc
    this.#life = life
    this.#control = control
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
    await this.#control.closeAsync()
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
 * @throws (rejects with) {ModelLoadError} if a model of the repository cannot be loaded.
 * @throws (rejects with) the system's error if an address is in use.
 * @example
 * await using server = await createServer({ models: [double], http: { port: 0 } })
 * await fetch(`http://127.0.0.1:${server.port}/v2/models/double`)
 */
export async function createServer(options: ServerOptions): Promise<InferenceServer> {
  const given = checkOptions<ServerOptions>(options, OPTIONS)
  const { grpc = false, models = [], repository, modelControl = 'none', logError = logToStderr } = given
  const { maxRequestBytes = 64 * 2 ** 20, requestTimeout = 30_000 } = given
  if (!Array.isArray(models) || !models.every(isModel)) {
    throw wrongType('models', 'an array of models', models, 'Make models with defineModel().')
  }
  if (modelControl !== 'none' && modelControl !== 'explicit') {
    throw wrongType('modelControl', "'none' or 'explicit'", modelControl)
  }
  checkAtLeastOne(maxRequestBytes, 'maxRequestBytes')
  checkAtLeastOne(requestTimeout, 'requestTimeout')
  const registry = new ModelRegistry()
  registry.addAll(models)
  const control = new ModelControl(registry, repository, modelControl === 'explicit')
  const connections = new Set<Socket>()
  const life = new ServerLife()
  const state = {
    name: given.name ?? 'tenon',
    version,
    registry,
    limits: { bytes: maxRequestBytes, jsonBytes: Math.min(JSON_BYTES, maxRequestBytes), timeout: requestTimeout },
    control,
    metrics: new Metrics(registry, () => connections.size),
    life,
    logError,
  }
  let http: HttpServer | undefined
  try {
    if (modelControl === 'none') await control.loadAll()
    http = await HttpServer.listen(state, given.http ?? {}, connections)
    const ofGrpc = grpc === false ? undefined : await GrpcServer.listen(state, grpc)
    return new InferenceServer(http, ofGrpc, life, control)
  } catch (error) {
    await http?.close()
    await control.closeAsync()
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
