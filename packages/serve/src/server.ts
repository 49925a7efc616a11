import { ArgumentError } from '@tenon/core'
import { checkOptions, describe, wrongType } from '@tenon/core/internal'
import type { Socket } from 'node:net'
import { GrpcServer, type GrpcOptions } from './grpc/grpc-server.ts'
import { HttpServer, type HttpOptions } from './http/http-server.ts'
import { isLoopback } from './http/listen-address.ts'
import { Log, type LogError, type LogOptions } from './log/log.ts'
import { isModel, type Model } from './model/model.ts'
import type { ModelSource } from './repository/model-source.ts'
import { ByteBudget } from './service/byte-budget.ts'
import { CRASH_LOOP } from './service/fault-of.ts'
import { ModelControl } from './service/model-control.ts'
import { Metrics } from './service/metrics.ts'
import { ModelRegistry } from './service/model-registry.ts'
import type { TrafficWeights } from './service/traffic.ts'
import { ServerLife, type ServerState } from './service/server-state.ts'
import { problemOfPrefix, Regions } from './shared-memory/regions.ts'
import { Tracing } from './tracing/tracing.ts'
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
  /**
   * Lets clients of this machine pass tensors in POSIX shared memory whose names start with this text. Requires that `http.host` and
   * `grpc.host` are addresses of this machine only. By default, clients share no memory.
   */
  readonly allowClientSharedMemory?: string
  /** The most bytes of one request. Default: 64 MiB. */
  readonly maxRequestBytes?: number
  /**
   * The most bytes of all requests together. Further ones are not read until there is room, and get the status 503 after half of
   * `requestTimeout`. Default: 1 GiB.
   */
  readonly maxInFlightBytes?: number
  /** The longest time in which a request must arrive, in milliseconds. Default: 30,000. */
  readonly requestTimeout?: number
  /**
   * Receives each error that a client was told of, instead of the log. Without it, the log has a line for each, and of more than ten failures of
   * one kind in a second, the others are only counted.
   */
  readonly logError?: LogError
  /** What is logged, and where. By default, failures are lines on stderr. */
  readonly log?: LogOptions
}

const OPTIONS = [
  'allowClientSharedMemory',
  'grpc',
  'http',
  'log',
  'logError',
  'maxInFlightBytes',
  'maxRequestBytes',
  'modelControl',
  'models',
  'name',
  'repository',
  'requestTimeout',
] as const

/** The most bytes of the JSON of one request. */
const JSON_BYTES = 16 * 2 ** 20

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
  readonly #life: ServerLife
  readonly #control: ModelControl
  readonly #regions: Regions
  readonly #registry: ModelRegistry
  /** @internal */
  readonly log: Log

  /** @internal */
  constructor(
    http: HttpServer,
    grpc: GrpcServer | undefined,
    { life, control, regions, registry, log }: Pick<ServerState, 'life' | 'control' | 'regions' | 'registry' | 'log'>,
  ) {
    this.#http = http
    this.#grpc = grpc
    this.#life = life
    this.#control = control
    this.#regions = regions
    this.#registry = registry
    this.log = log
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

  /** Whether the processes of every model crashed so often that none is started any more. */
  get isCrashed(): boolean {
    const models = this.#registry.all()
    return models.length > 0 && models.every(({ fault }) => fault === CRASH_LOOP)
  }

  /** Says that the server is not ready, so that load balancers send no new requests. Requests are still answered. */
  announceEnd(): void {
    this.#life.announceEnd()
    this.#http.endConnections()
  }

  /**
   * Distributes requests without a version among the versions of a model, from the next one on. Requests that name a version are not affected.
   *
   * @param weights whole numbers from 0 to 1,000,000 by version. Of as many requests as their sum, each version gets exactly its weight.
   * Undefined lets all of them go to the highest version again.
   * @throws {ArgumentError} if a weight is not valid, all are 0, or a version is not loaded. @throws {ModelNotFoundError | ModelUnavailableError}
   * @example
   * server.setTraffic('double', { '1': 90, '2': 10 })
   */
  setTraffic(model: string, weights: TrafficWeights | undefined): void {
    this.#control.setTraffic(model, weights)
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
    this.#regions.close()
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
  const { grpc = false, models = [], repository, modelControl = 'none' } = given
  const { maxRequestBytes = 64 * 2 ** 20, maxInFlightBytes = 2 ** 30, requestTimeout = 30_000 } = given
  if (!Array.isArray(models) || !models.every(isModel)) {
    throw wrongType('models', 'an array of models', models, 'Make models with defineModel().')
  }
  if (modelControl !== 'none' && modelControl !== 'explicit') {
    throw wrongType('modelControl', "'none' or 'explicit'", modelControl)
  }
  checkAtLeastOne(maxRequestBytes, 'maxRequestBytes')
  checkAtLeastOne(requestTimeout, 'requestTimeout')
  checkAtLeastOne(maxInFlightBytes, 'maxInFlightBytes')
  if (maxInFlightBytes < maxRequestBytes) {
    throw new ArgumentError(
      `maxInFlightBytes must be at least maxRequestBytes, got ${maxInFlightBytes} and ${maxRequestBytes}`,
    )
  }
  checkSharing(given)
  const registry = new ModelRegistry()
  registry.addAll(models)
  const control = new ModelControl(registry, repository, modelControl === 'explicit', maxRequestBytes)
  const connections = new Set<Socket>()
  const life = new ServerLife(registry)
  // The other half of the time is for the body to arrive.
  const budget = new ByteBudget(maxInFlightBytes, requestTimeout / 2)
  const state: ServerState = {
    name: given.name ?? 'tenon',
    version,
    registry,
    limits: { bytes: maxRequestBytes, jsonBytes: Math.min(JSON_BYTES, maxRequestBytes), timeout: requestTimeout },
    control,
    regions: new Regions(given.allowClientSharedMemory),
    budget,
    tracing: await Tracing.load(),
    metrics: new Metrics(registry, { connections: () => connections.size, inFlightBytes: () => budget.used }),
    life,
    log: await Log.open(given.log, given.logError),
    access: undefined,
  }
  let http: HttpServer | undefined
  try {
    await control.warmUp()
    if (modelControl === 'none') await control.loadAll()
    http = await HttpServer.listen(state, given.http ?? {}, connections)
    const ofGrpc = grpc === false ? undefined : await GrpcServer.listen(state, grpc)
    return new InferenceServer(http, ofGrpc, state)
  } catch (error) {
    await http?.close()
    await control.closeAsync()
    throw error
  }
}

/** @throws {ArgumentError} if clients of other machines could share memory, or the prefix of keys is not allowed. */
function checkSharing({ allowClientSharedMemory: prefix, http, grpc }: Partial<ServerOptions>): void {
  if (prefix === undefined) return
  const problem = problemOfPrefix(prefix)
  if (problem !== undefined) throw new ArgumentError(`allowClientSharedMemory ${problem}, got ${describe(prefix)}`)
  const hosts = [http?.host, grpc === false ? undefined : grpc?.host]
  const other = hosts.find((host) => host !== undefined && !isLoopback(host))
  if (other !== undefined) {
    throw new ArgumentError(`allowClientSharedMemory must be for servers of this machine only, got the host ${other}`, {
      hint: 'Leave the host out, or do not share memory.',
    })
  }
  if (process.platform !== 'linux') throw new ArgumentError('allowClientSharedMemory must be on Linux')
}

function checkAtLeastOne(value: unknown, name: string): void {
  if (typeof value === 'number' && value >= 1) return
  throw new ArgumentError(`${name} must be a number from 1, got ${describe(value)}`)
}
