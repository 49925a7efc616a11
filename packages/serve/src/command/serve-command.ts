import { TenonError } from '@tenon/core'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { logLine } from '../log.ts'
import { ModelRepository } from '../repository/model-repository.ts'
import { createServer, type InferenceServer } from '../server.ts'

const usage = `tenon serve: serves the models of a folder over the Open Inference Protocol

  tenon serve FOLDER [flags]

  --host ADDRESS             the address to listen on (127.0.0.1)
  --http-port PORT           the port of HTTP (PORT of the environment, or 8000)
  --grpc-port PORT           the port of gRPC (8001)
  --no-grpc                  no gRPC
  --model-control MODE       none (default) loads all models, explicit lets clients load and unload
  --max-request-bytes BYTES  the most bytes of one request (67108864)
  --drain-delay SECONDS      how long requests are answered after SIGTERM (0)
  --drain-timeout SECONDS    how long requests in progress may take then (30)
  --help

FOLDER has models/<name>/model.json and models/<name>/<version>/<library>.
Exit codes: 0 drained, 1 a model failed to load, 2 the command line is not valid, 4 not drained.
`

/** The exit codes of `tenon serve`. */
const EXIT = { drained: 0, failed: 1, usage: 2, notDrained: 4, interrupted: 130 } as const

/** A mistake on the command line. */
class UsageError extends Error {}

/** Runs `tenon serve`. @param argv the arguments behind `serve`. @returns the exit code, after SIGTERM or SIGINT. */
export async function serveCommand(argv: readonly string[]): Promise<number> {
  try {
    const flags = readFlags(argv)
    if (flags.help === true) {
      process.stdout.write(usage)
      return EXIT.drained
    }
    return await serve(flags)
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`tenon serve: ${error.message}\n`)
      return EXIT.usage
    }
    if (!(error instanceof TenonError) && (error as NodeJS.ErrnoException).code === undefined) throw error
    process.stderr.write(`tenon serve: ${(error as Error).message}\n`)
    return EXIT.failed
  }
}

interface Flags {
  readonly help?: boolean
  readonly folder: string
  readonly host: string
  readonly port: number
  /** Undefined for no gRPC. */
  readonly grpcPort: number | undefined
  readonly modelControl: 'none' | 'explicit'
  readonly maxRequestBytes: number
  /** In milliseconds. */
  readonly drainDelay: number
  readonly drainTimeout: number
}

async function serve({ folder, host, port, grpcPort, ...flags }: Flags): Promise<number> {
  const { modelControl, maxRequestBytes, drainDelay, drainTimeout } = flags
  const server = await createServer({
    repository: ModelRepository.open(folder),
    modelControl,
    http: { host, port },
    grpc: grpcPort === undefined ? false : { host, port: grpcPort },
    maxRequestBytes,
  })
  const grpc = server.grpcPort === undefined ? {} : { grpc: `${host}:${server.grpcPort}` }
  logLine('info', 'listening', { http: `http://${host}:${server.port}`, ...grpc })
  return new Promise((resolve, reject) => {
    let isDraining = false
    const end = (signal: NodeJS.Signals): void => {
      if (isDraining) {
        resolve(EXIT.interrupted)
        return
      }
      isDraining = true
      logLine('info', 'draining', { signal })
      drain(server, drainDelay, drainTimeout).then(resolve, reject)
    }
    process.on('SIGTERM', end)
    process.on('SIGINT', end)
  })
}

async function drain(server: InferenceServer, delay: number, timeout: number): Promise<number> {
  server.announceEnd()
  await setTimeout(delay)
  const isDrained = await server.closeAsync({ deadline: timeout })
  logLine('info', isDrained ? 'drained' : 'not drained', {})
  return isDrained ? EXIT.drained : EXIT.notDrained
}

/** @throws {UsageError} */
function readFlags(argv: readonly string[]): Flags {
  let parsed
  try {
    parsed = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        host: { type: 'string', default: '127.0.0.1' },
        'http-port': { type: 'string', default: process.env['PORT'] ?? '8000' },
        'grpc-port': { type: 'string', default: '8001' },
        'no-grpc': { type: 'boolean', default: false },
        'model-control': { type: 'string', default: 'none' },
        'max-request-bytes': { type: 'string', default: String(64 * 2 ** 20) },
        'drain-delay': { type: 'string', default: '0' },
        'drain-timeout': { type: 'string', default: '30' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
  const { values, positionals } = parsed
  const [folder = ''] = positionals
  if (values.help !== true && positionals.length !== 1) {
    throw new UsageError(`one folder with models must be given, got ${positionals.length}`)
  }
  return {
    ...(values.help === true ? { help: true } : {}),
    folder,
    host: values.host,
    port: readNumber('--http-port', values['http-port'], 65_535),
    grpcPort: values['no-grpc'] ? undefined : readNumber('--grpc-port', values['grpc-port'], 65_535),
    modelControl: readMode(values['model-control']),
    maxRequestBytes: readNumber('--max-request-bytes', values['max-request-bytes'], Number.MAX_SAFE_INTEGER),
    drainDelay: 1000 * readNumber('--drain-delay', values['drain-delay'], 86_400),
    drainTimeout: 1000 * readNumber('--drain-timeout', values['drain-timeout'], 86_400),
  }
}

function readMode(text: string): 'none' | 'explicit' {
  if (text === 'none' || text === 'explicit') return text
  throw new UsageError(`--model-control must be none or explicit, got ${text || 'nothing'}`)
}

function readNumber(flag: string, text: string, most: number): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (value <= most) return value
  throw new UsageError(`${flag} must be a whole number up to ${most}, got ${text || 'nothing'}`)
}
