import { checkOptions } from '@tenon/core/internal'
import type { Socket } from 'node:net'
import { FileAccess } from './access/file-access.ts'
import { GrpcServer } from './grpc/grpc-server.ts'
import { monitoringRoutes, routesOf } from './http/handlers.ts'
import { HttpServer, type Listener } from './http/http-server.ts'
import { Log } from './log/log.ts'
import {
  checkServerOptions,
  type CheckedOptions,
  type MonitoringOptions,
  type ServerOptions,
} from './server-options.ts'
import { ByteBudget } from './service/byte-budget.ts'
import { callLater } from './service/call-later.ts'
import { CRASH_LOOP } from './service/fault-of.ts'
import { ModelControl } from './service/model-control.ts'
import { Metrics } from './service/metrics.ts'
import { ModelRegistry } from './service/model-registry.ts'
import type { TrafficWeights } from './service/traffic.ts'
import { StepCounts } from './service/step-counts.ts'
import { ServerLife, type ServerState } from './service/server-state.ts'
import { Regions } from './shared-memory/regions.ts'
import { TlsFiles } from './tls/tls-files.ts'
import { Tracing } from './tracing/tracing.ts'
import { version } from './version.ts'

/** The most bytes of the JSON of one request. */
const JSON_BYTES = 16 * 2 ** 20

/** The state of a server with what it watches. */
interface OpenState extends ServerState {
  readonly access: FileAccess | undefined
}

interface Listeners {
  readonly http: HttpServer
  readonly grpc: GrpcServer | undefined
  readonly monitoring: HttpServer | undefined
}

/**
 * A running server. Made by {@link createServer}.
 *
 * | part          | lives until                                                                          |
 * | ------------- | ------------------------------------------------------------------------------------ |
 * | the listeners | closing begins: later connections are refused                                        |
 * | a request     | it is answered, its deadline passes, its client leaves, or the time to drain is over |
 * | a model       | it is unloaded or replaced, and its last request is answered                         |
 * | a worker      | its model ends; one that crashes is started again, with longer and longer pauses     |
 * | shared memory | its client unregisters it, or the server closes; it is never freed under a request   |
 */
export class InferenceServer implements AsyncDisposable {
  readonly #http: HttpServer
  readonly #grpc: GrpcServer | undefined
  readonly #monitoring: HttpServer | undefined
  readonly #tls: TlsFiles | undefined
  readonly #state: OpenState
  /** @internal */
  readonly log: Log

  /** @internal */
  constructor({ http, grpc, monitoring }: Listeners, tls: TlsFiles | undefined, state: OpenState) {
    this.#http = http
    this.#grpc = grpc
    this.#monitoring = monitoring
    this.#tls = tls
    this.#state = state
    this.log = state.log
  }

  /** The port on which HTTP is answered. */
  get port(): number {
    return this.#http.port
  }

  /** The port on which gRPC is answered, or undefined without gRPC. */
  get grpcPort(): number | undefined {
    return this.#grpc?.port
  }

  /** The host and the port on which HTTP is answered, `127.0.0.1:8000`. */
  get httpAddress(): string {
    return this.#http.address
  }

  /** The host and the port on which gRPC is answered, or undefined without gRPC. */
  get grpcAddress(): string | undefined {
    return this.#grpc?.address
  }

  /** The host and the port of the monitoring, or undefined without one. */
  get monitoringAddress(): string | undefined {
    return this.#monitoring?.address
  }

  /** Whether HTTP and gRPC are encrypted. */
  get isEncrypted(): boolean {
    return this.#tls !== undefined
  }

  /** Whether the processes of every model crashed so often that none is started any more. */
  get isCrashed(): boolean {
    const models = this.#state.registry.all()
    return models.length > 0 && models.every(({ fault }) => fault === CRASH_LOOP)
  }

  /** Says that the server is not ready, so that load balancers send no new requests. Requests are still answered. */
  announceEnd(): void {
    this.#state.life.announceEnd()
    this.#http.endConnections()
  }

  /**
   * Distributes requests without a version among the versions of a model, from the next one on. Requests that name a version are not affected.
   *
   * @param weights whole numbers from 0 to 1,000,000 by version. Of as many requests as their sum, each version gets exactly its weight.
   * Undefined lets all of them go to the highest version again.
   * @throws {ArgumentError} if a weight is not valid, all are 0, or a version is not loaded. @throws {ModelNotFoundError | ModelUnavailableError}
   * @example
   * server.setTraffic('double', { '1': 100 })
   */
  setTraffic(model: string, weights: TrafficWeights | undefined): void {
    this.#state.control.setTraffic(model, weights)
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
    this.#state.life.close()
    let isDrained = true
    const cancelAbort = callLater(() => {
      isDrained = false
      this.#http.abort()
      this.#grpc?.abort()
    }, deadline)
    await Promise.all([this.#http.close(), this.#grpc?.close()])
    cancelAbort()
    this.#monitoring?.abort()
    await this.#monitoring?.close()
    await this.#state.control.closeAsync()
    this.#state.regions.close()
    closeFiles(this.#state, this.#tls)
    return isDrained
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#state.life.isOpen) await this.closeAsync()
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
  const given = checkServerOptions(options)
  const { grpc, models, monitoring, maxRequestBytes, maxInFlightBytes, requestTimeout } = given
  const registry = new ModelRegistry()
  registry.addAll(models)
  const control = new ModelControl(registry, given.repository, given.modelControl === 'explicit', maxRequestBytes)
  const connections = new Set<Socket>()
  const life = new ServerLife(registry)
  // The other half of the time is for the body to arrive.
  const budget = new ByteBudget(maxInFlightBytes, requestTimeout / 2)
  const log = await Log.open(given.log, given.logError)
  const tls = given.tls === undefined ? undefined : await TlsFiles.open(given.tls, log, requestTimeout)
  const state: OpenState = {
    name: given.name,
    version,
    registry,
    limits: { bytes: maxRequestBytes, jsonBytes: Math.min(JSON_BYTES, maxRequestBytes), timeout: requestTimeout },
    control,
    regions: new Regions(given.allowClientSharedMemory),
    budget,
    tracing: await Tracing.load(),
    metrics: new Metrics(registry, { connections: () => connections.size, inFlightBytes: () => budget.used }),
    life,
    log,
    access: given.access === undefined ? undefined : await openAccess(given.access, log, tls),
  }
  registry.observer = new StepCounts(state.metrics)
  const opened: { http?: HttpServer; monitoring?: HttpServer } = {}
  try {
    await control.warmUp()
    if (given.modelControl === 'none') await control.loadAll()
    control.checkPipelines()
    state.access?.compareWith(() => control.names())
    const http = await HttpServer.listen(state, httpListener(given, state, tls), connections)
    opened.http = http
    if (monitoring !== false) {
      opened.monitoring = await HttpServer.listen(
        forMonitoring(state),
        monitoringListener(monitoring, state),
        new Set(),
      )
    }
    const ofGrpc = grpc === false ? undefined : await GrpcServer.listen(state, grpc, tls)
    return new InferenceServer({ http, grpc: ofGrpc, monitoring: opened.monitoring }, tls, state)
  } catch (error) {
    await Promise.all([opened.http?.close(), opened.monitoring?.close()])
    await control.closeAsync()
    closeFiles(state, tls)
    throw error
  }
}

/** Opens the control of access. @throws (rejects with) {ArgumentError}, and closes the certificates. */
async function openAccess(path: string, log: Log, tls: TlsFiles | undefined): Promise<FileAccess> {
  try {
    return await FileAccess.open(path, log)
  } catch (error) {
    tls?.close()
    throw error
  }
}

function closeFiles({ access }: OpenState, tls: TlsFiles | undefined): void {
  access?.close()
  tls?.close()
}

function httpListener(
  { http = {}, monitoring }: CheckedOptions,
  state: ServerState,
  tls: TlsFiles | undefined,
): Listener {
  const { host = '127.0.0.1', port = 8000, allowedOrigins = [] } = http
  return { host, port, allowedOrigins, tls, router: routesOf(state, monitoring === false) }
}

function monitoringListener(options: MonitoringOptions, state: ServerState): Listener {
  const { host = '127.0.0.1', port = 8002 } = checkOptions<MonitoringOptions>(options, ['host', 'port'], 'monitoring')
  return { host, port, allowedOrigins: [], tls: undefined, router: monitoringRoutes(state) }
}

/** The same state for the listener of the monitoring, whose requests come every few seconds. */
const forMonitoring = (state: ServerState): ServerState => ({
  ...state,
  access: undefined,
  log: state.log.withoutAnswers(),
})
