import type { Definition, Values } from './definition.ts'
import { ExitCode } from './failure.ts'
import { explainStart } from './serve-errors.ts'
import { loadServer, type RunOptions, type ServerOptions } from './serve-package.ts'
import { defineSubCommand, type SubCommand } from './sub-command.ts'
import { LONGEST_TIMER, parseDuration, parseSize } from './units.ts'
import { UsageError } from './usage-error.ts'

const args = {
  folder: {
    type: 'positional',
    description:
      'a folder with <name>/model.json and <name>/<version>/<library> for each model, or the folder of one model',
  },
  host: { type: 'string', valueHint: 'address', description: 'the address to listen on; 127.0.0.1 without it' },
  'http-port': {
    type: 'string',
    valueHint: 'port',
    description: 'the port of HTTP; PORT of the environment or 8000 without it',
  },
  'grpc-port': { type: 'string', valueHint: 'port', description: 'the port of gRPC; 8001 without it' },
  'no-grpc': { type: 'boolean', description: 'do not answer gRPC' },
  'tls-cert': {
    type: 'string',
    valueHint: 'file',
    description: 'encrypt HTTP and gRPC with the certificate in this file, which is read again when it changes',
  },
  'tls-key': { type: 'string', valueHint: 'file', description: 'the private key of the certificate' },
  'tls-client-ca': {
    type: 'string',
    valueHint: 'file',
    description: 'ask clients for a certificate of one of the authorities in this file',
  },
  'tls-crl': {
    type: 'string',
    valueHint: 'file',
    description: 'refuse clients whose certificates are in the lists of revoked ones in this file',
  },
  access: {
    type: 'string',
    valueHint: 'file',
    description: 'answer only the callers in this file, with the permissions that it gives them',
  },
  'allow-plain-tokens': {
    type: 'boolean',
    description: 'take tokens of other machines without TLS, behind a proxy that encrypts',
  },
  'monitoring-port': {
    type: 'string',
    valueHint: 'port',
    description: 'answer /metrics and health on a port of its own, without TLS and tokens',
  },
  'monitoring-host': {
    type: 'string',
    valueHint: 'address',
    description: 'the address of the monitoring; that of --host without it',
  },
  'log-sample': {
    type: 'string',
    valueHint: 'number',
    description: 'the part of the requests without a failure that are logged, such as 0.01; 1 without it',
  },
  'log-stacks': { type: 'boolean', description: 'log the stacks of errors of the server and of models' },
  'log-format': {
    type: 'enum',
    options: ['json', 'text'],
    description: 'the form of the log; text on a terminal and json elsewhere without it',
  },
  'model-name': {
    type: 'string',
    valueHint: 'name',
    description:
      'the name of the model in the folder of one model; INFERENCE_SERVICE_NAME of the environment wins over it',
  },
  'model-control': {
    type: 'enum',
    options: ['none', 'explicit'],
    description: 'load all models at the start, or let clients load and unload them',
  },
  'allow-client-shm': {
    type: 'string',
    valueHint: 'prefix',
    description: 'let clients of this machine pass tensors in shared memory with names that start so',
  },
  'allow-origin': {
    type: 'string',
    valueHint: 'origin',
    repeatable: true,
    description: 'answer requests of web pages from this origin, such as https://example.org',
  },
  'max-request-bytes': {
    type: 'string',
    valueHint: 'size',
    description: 'the most bytes of one request; 64MiB without it',
  },
  'max-in-flight-bytes': {
    type: 'string',
    valueHint: 'size',
    description: 'the most bytes of all requests together; 1GiB without it',
  },
  'request-timeout': {
    type: 'string',
    valueHint: 'duration',
    description: 'the time in which a request must arrive, such as 1min; 30s without it',
  },
  'drain-delay': {
    type: 'string',
    valueHint: 'duration',
    description: 'how long requests are still answered after SIGTERM, such as 5s; 0 without it',
  },
  'drain-timeout': {
    type: 'string',
    valueHint: 'duration',
    description: 'how long requests in progress may take then, such as 1min or inf; 30s without it',
  },
} as const satisfies Definition

/** The command `tenon serve`, which answers requests of the Open Inference Protocol until SIGTERM or SIGINT. */
export const serveCommand: SubCommand = defineSubCommand({
  meta: { name: 'serve', description: 'Serve the models of a folder over the Open Inference Protocol' },
  args,
  async run(flags) {
    const { ModelRepository, createServer, runUntilSignal } = await loadServer()
    const name = process.env['INFERENCE_SERVICE_NAME'] || flags['model-name']
    const options = serverOptions(flags)
    const drain = drainOptions(flags)
    const repository = ModelRepository.open(flags.folder, name === undefined ? {} : { name })
    const server = await createServer({ repository, ...options }).catch((error: unknown) => {
      throw explainStart(error)
    })
    const end = await runUntilSignal(server, drain)
    // A second signal leaves requests and processes of kernels behind, which end with this process.
    if (end === 'interrupted') process.exit(ExitCode.interrupted)
    return exitCodes[end]
  },
})

const exitCodes = {
  drained: ExitCode.ok,
  'crash loop': ExitCode.kernelFailed,
  'not drained': ExitCode.notDrained,
} as const

function serverOptions(flags: Values<typeof args>): ServerOptions {
  const { host = '127.0.0.1' } = flags
  const { 'max-request-bytes': requestBytes, 'max-in-flight-bytes': inFlightBytes } = flags
  const { 'request-timeout': requestTimeout } = flags
  const { 'allow-client-shm': prefix, 'model-control': modelControl = 'none' } = flags
  return {
    modelControl,
    http: {
      host,
      port: httpPort(flags['http-port'], process.env['PORT']),
      allowedOrigins: flags['allow-origin'],
    },
    grpc: flags['no-grpc'] ? false : { host, port: parsePort('--grpc-port', flags['grpc-port'] ?? '8001') },
    ...securityOptions(flags),
    ...monitoringOptions(host, flags),
    log: logOptions(flags),
    ...(prefix === undefined ? {} : { allowClientSharedMemory: prefix }),
    ...(requestBytes === undefined ? {} : { maxRequestBytes: parseSize('--max-request-bytes', requestBytes) }),
    ...(requestTimeout === undefined
      ? {}
      : { requestTimeout: Math.ceil(parseDuration('--request-timeout', requestTimeout, { most: LONGEST_TIMER })) }),
    ...(inFlightBytes === undefined ? {} : { maxInFlightBytes: parseSize('--max-in-flight-bytes', inFlightBytes) }),
  }
}

function securityOptions(flags: Values<typeof args>): Pick<ServerOptions, 'access' | 'allowPlainTokens' | 'tls'> {
  const { 'tls-cert': cert, 'tls-key': key, 'tls-client-ca': clientCa, 'tls-crl': crl, access } = flags
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError('--tls-cert and --tls-key must be there together')
  if (clientCa !== undefined && cert === undefined) throw new UsageError('--tls-client-ca must be with --tls-cert')
  if (crl !== undefined && clientCa === undefined) throw new UsageError('--tls-crl must be with --tls-client-ca')
  const ofClients = { ...(clientCa === undefined ? {} : { clientCa }), ...(crl === undefined ? {} : { crl }) }
  return {
    ...(cert === undefined || key === undefined ? {} : { tls: { cert, key, ...ofClients } }),
    ...(access === undefined ? {} : { access }),
    allowPlainTokens: flags['allow-plain-tokens'] === true,
  }
}

function monitoringOptions(host: string, flags: Values<typeof args>): Pick<ServerOptions, 'monitoring'> {
  const { 'monitoring-port': port, 'monitoring-host': own } = flags
  if (port !== undefined) return { monitoring: { host: own ?? host, port: parsePort('--monitoring-port', port) } }
  if (own !== undefined) throw new UsageError('--monitoring-host must be with --monitoring-port')
  return {}
}

function logOptions(flags: Values<typeof args>): ServerOptions['log'] {
  const { 'log-sample': text = '1', 'log-format': format } = flags
  const sample = /^(0|1|0?\.\d+|1\.0+)$/.test(text) ? Number(text) : Number.NaN
  if (Number.isNaN(sample)) throw new UsageError(`--log-sample must be a number from 0 to 1, got ${text || 'nothing'}`)
  return { sample, stacks: flags['log-stacks'] === true, ...(format === undefined ? {} : { format }) }
}

function drainOptions(flags: Values<typeof args>): RunOptions {
  const { 'drain-delay': delay = '0', 'drain-timeout': timeout = '30s' } = flags
  return {
    // A server that answers without an end would not end.
    drainDelay: parseDuration('--drain-delay', delay, { least: 0, most: LONGEST_TIMER }),
    drainTimeout: parseDuration('--drain-timeout', timeout, { least: 0 }),
  }
}

/** @param variable `PORT` of the environment, which platforms set. */
function httpPort(flag: string | undefined, variable: string | undefined): number {
  if (flag !== undefined || variable === undefined) return parsePort('--http-port', flag ?? '8000')
  return parsePort('PORT of the environment', variable)
}

function parsePort(name: string, text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
  throw new UsageError(`${name} must be a port from 0 to 65535, got ${text || 'nothing'}`)
}
