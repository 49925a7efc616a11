import { ArgumentError } from '@tenon/core'
import { checkOptions, describe, wrongType } from '@tenon/core/internal'
import type { GrpcOptions } from './grpc/grpc-server.ts'
import type { HttpOptions } from './http/http-server.ts'
import { isLoopback } from './http/listen-address.ts'
import type { LogError, LogOptions } from './log/log.ts'
import { isModel, type Model } from './model/model.ts'
import type { ModelSource } from './repository/model-source.ts'
import { LONGEST_TIMER } from './service/call-later.ts'
import { problemOfPrefix } from './shared-memory/regions.ts'
import type { TlsOptions } from './tls/tls-files.ts'

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
  /** The lines that are logged, and their destination. By default, failures are lines on stderr. */
  readonly log?: LogOptions
  /** The encryption of HTTP and gRPC. Default: none. */
  readonly tls?: TlsOptions
  /** The path of the access file, with the callers that may use the server and their permissions. Default: everybody who reaches it may use it. */
  readonly access?: string
  /**
   * Lets callers of other machines send tokens without `tls`, which everybody between them and the server can read. For servers behind a proxy or a
   * mesh that encrypts. Default: false.
   */
  readonly allowPlainTokens?: boolean
  /** A listener of its own for metrics and health, without encryption and access control. Then `http` has no `/metrics`. Default: false. */
  readonly monitoring?: MonitoringOptions | false
}

/** Where a server listens for its monitoring. */
export interface MonitoringOptions {
  /** Default: `127.0.0.1`. */
  readonly host?: string
  /** Default: 8002. 0 takes a free port. */
  readonly port?: number
}

const OPTIONS = [
  'access',
  'allowClientSharedMemory',
  'allowPlainTokens',
  'grpc',
  'http',
  'log',
  'logError',
  'maxInFlightBytes',
  'maxRequestBytes',
  'modelControl',
  'models',
  'monitoring',
  'name',
  'repository',
  'requestTimeout',
  'tls',
] as const

/** The options of a server with their defaults. */
export type CheckedOptions = Omit<ServerOptions, Defaulted> & Required<Pick<ServerOptions, Defaulted>>

type Defaulted =
  | 'grpc'
  | 'maxInFlightBytes'
  | 'maxRequestBytes'
  | 'modelControl'
  | 'models'
  | 'monitoring'
  | 'name'
  | 'requestTimeout'

/** @throws {ArgumentError} if an option is not valid, or contradicts another one. */
export function checkServerOptions(options: ServerOptions): CheckedOptions {
  const given = checkOptions<ServerOptions>(options, OPTIONS)
  const { grpc = false, models = [], modelControl = 'none' } = given
  const { maxRequestBytes = 64 * 2 ** 20, maxInFlightBytes = 2 ** 30, requestTimeout = 30_000 } = given
  if (!Array.isArray(models) || !models.every(isModel)) {
    throw wrongType('models', 'an array of models', models, 'Make models with defineModel().')
  }
  if (given.repository !== undefined && !isSource(given.repository)) {
    const hint = 'Open a folder with ModelRepository.open().'
    throw wrongType('repository', 'an object with the functions names() and load()', given.repository, hint)
  }
  if (modelControl !== 'none' && modelControl !== 'explicit') {
    throw wrongType('modelControl', "'none' or 'explicit'", modelControl)
  }
  checkAtLeastOne(maxRequestBytes, 'maxRequestBytes')
  checkAtLeastOne(maxInFlightBytes, 'maxInFlightBytes')
  if (!Number.isSafeInteger(requestTimeout) || requestTimeout < 1 || requestTimeout > LONGEST_TIMER) {
    const expected = `a whole number of milliseconds from 1 to ${LONGEST_TIMER}`
    throw optionError('requestTimeout', `must be ${expected}, got ${describe(requestTimeout)}`)
  }
  if (maxInFlightBytes < maxRequestBytes) {
    throw optionError(
      'maxInFlightBytes',
      `must be at least maxRequestBytes, which is ${maxRequestBytes}, got ${maxInFlightBytes}`,
    )
  }
  checkSharing(given)
  checkAccess(given)
  return {
    ...given,
    ...{ grpc, models, modelControl, maxRequestBytes, maxInFlightBytes, requestTimeout },
    name: given.name ?? 'tenon',
    monitoring: given.monitoring ?? false,
  }
}

function isSource(value: Partial<ModelSource> | null): boolean {
  return typeof value?.names === 'function' && typeof value.load === 'function'
}

/** @throws {ArgumentError} if clients of other machines could share memory, or the prefix of keys is not allowed. */
function checkSharing({ allowClientSharedMemory: prefix, http, grpc }: ServerOptions): void {
  if (prefix === undefined) return
  const problem = problemOfPrefix(prefix)
  if (problem !== undefined) throw optionError('allowClientSharedMemory', `${problem}, got ${describe(prefix)}`)
  const other = publicHost(http, grpc)
  if (other !== undefined) {
    throw optionError(
      'allowClientSharedMemory',
      `must be for servers of this machine only, got the host ${other}`,
      'Leave the host out, or do not share memory.',
    )
  }
  if (process.platform !== 'linux') throw optionError('allowClientSharedMemory', 'must be on Linux')
}

/** @throws {ArgumentError} if tokens of other machines would not be encrypted. */
function checkAccess({ access, tls, allowPlainTokens = false, http, grpc }: ServerOptions): void {
  if (typeof allowPlainTokens !== 'boolean') throw wrongType('allowPlainTokens', 'a boolean', allowPlainTokens)
  if (access === undefined) return
  if (typeof access !== 'string' || access === '') throw wrongType('access', 'the path of a file', access)
  const other = publicHost(http, grpc)
  if (other === undefined || tls !== undefined || allowPlainTokens) return
  throw optionError(
    'access',
    `must be with tls if other machines reach the server, got the host ${other}`,
    'Add tls, or allowPlainTokens behind a proxy that encrypts.',
  )
}

/** An address that other machines reach. */
function publicHost(http: ServerOptions['http'], grpc: ServerOptions['grpc']): string | undefined {
  const hosts = [http?.host, grpc === false ? undefined : grpc?.host]
  return hosts.find((host) => host !== undefined && !isLoopback(host))
}

function checkAtLeastOne(value: unknown, name: string): void {
  if (typeof value === 'number' && value >= 1) return
  throw optionError(name, `must be a number from 1, got ${describe(value)}`)
}

/** An error whose details have the name of the option, so that the command can name its flag instead. */
const optionError = (name: string, problem: string, hint?: string): ArgumentError =>
  new ArgumentError(`${name} ${problem}`, { hint, details: { name } })
