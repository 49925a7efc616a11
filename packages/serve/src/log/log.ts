import { checkOptions, wrongType, wrongValue } from '@tenon/core/internal'
import type { Logger } from 'pino'
import { FailureLimit } from './failure-limit.ts'
import { failureLine, requestFields, type LineFields } from './request-line.ts'
import type { RequestRecord } from './request-record.ts'
import { terminalLine } from './terminal-line.ts'

/** The options of the log of a server. */
export interface LogOptions {
  /**
   * The part of the requests without a failure that have a line, from 0 to 1. Failures always have one, but at most ten of one kind in a second.
   * Default: 0.
   */
  readonly sample?: number
  /** Whether errors of the server and of models have their stacks. Default: false. */
  readonly stacks?: boolean
  /** `json` writes one object in each line, and `text` lines for people. Default: `text` if stderr is a terminal, and `json` otherwise. */
  readonly format?: 'json' | 'text'
  /** Receives each line, with its line feed, instead of stderr. */
  readonly write?: (line: string) => void
}

/** A request that failed. */
export interface FailedRequest {
  /** The verb of HTTP, or `gRPC`. */
  readonly method: string
  /** The path, or the method of gRPC. */
  readonly path: string
  /** The status of the answer: that of HTTP, or the number of gRPC. */
  readonly status: number
  /** The address of the client; undefined if it had left before its request was read. */
  readonly address: string | undefined
  /** The header `x-request-id`, or the `id` of an inference. */
  readonly id: string | undefined
}

/** Receives each error that a client was told of. */
export type LogError = (error: unknown, request: FailedRequest) => void

/** The log of a server: lines about the server itself, about requests, and about failures. */
export class Log {
  readonly #logger: Logger
  readonly #sample: number
  readonly #hasStacks: boolean
  readonly #logError: LogError | undefined
  readonly #limit: FailureLimit

  private constructor(
    logger: Logger,
    sample: number,
    hasStacks: boolean,
    logError: LogError | undefined,
    limit: FailureLimit = new FailureLimit(),
  ) {
    this.#limit = limit
    this.#logger = logger
    this.#sample = sample
    this.#hasStacks = hasStacks
    this.#logError = logError
  }

  /** Opens the log. @param logError receives the failures of requests instead of the log. @throws {ArgumentError} */
  static async open(options: LogOptions = {}, logError?: LogError): Promise<Log> {
    const checked = checkOptions<LogOptions>(options, ['format', 'sample', 'stacks', 'write'], 'log')
    const {
      write = standardError,
      format = process.stderr.isTTY ? 'text' : 'json',
      sample = 0,
      stacks = false,
    } = checked
    if (typeof sample !== 'number' || !(sample >= 0 && sample <= 1))
      throw wrongValue('log.sample', 'a number from 0 to 1', sample)
    if (typeof stacks !== 'boolean') throw wrongType('log.stacks', 'a boolean', stacks)
    if (format !== 'json' && format !== 'text') throw wrongValue('log.format', "'json' or 'text'", format)
    if (typeof write !== 'function') throw wrongType('log.write', 'a function', write)
    // Programs that only define models do not need it.
    const { pino } = await import('pino')
    const stream = format === 'json' ? { write } : { write: (line: string): void => write(terminalLine(line)) }
    const logger = pino(
      {
        base: null,
        messageKey: 'message',
        timestamp: timeMember,
        formatters: { level: (level) => ({ level }) },
      },
      stream,
    )
    return new Log(logger, sample, stacks, logError)
  }

  /** The same log without lines for requests that did not fail. */
  withoutAnswers(): Log {
    return new Log(this.#logger, 0, this.#hasStacks, this.#logError, this.#limit)
  }

  /** Writes a line about the server itself. */
  write(level: 'info' | 'warn' | 'error', message: string, fields: LineFields = {}): void {
    this.#logger[level](fields, message)
  }

  /** Writes a line about a failure that belongs to no request, and that clients can cause as often as they want. */
  writeLimited(message: string, fields: LineFields): void {
    const suppressed = this.#limit.count(message)
    if (suppressed !== undefined) this.write('warn', message, { ...fields, ...counted(suppressed) })
  }

  /** Writes the line of a request, unless it has one already. Called when the answer was passed to the connection, or cannot be sent. */
  end(record: RequestRecord): void {
    if (record.hasEnded) return
    record.hasEnded = true
    const { error } = record
    if (error !== undefined) this.#fail(record, error)
    else if (this.#sample > 0 && (this.#sample === 1 || Math.random() < this.#sample))
      this.write(
        'info',
        record.reason === 'CANCELED' ? 'the client has left' : 'answered',
        requestFields(record, performance.now()),
      )
  }

  #fail(record: RequestRecord, error: unknown): void {
    if (this.#logError !== undefined) {
      const { source, status = 0, id } = record
      this.#logError(error, { method: source.method, path: source.path, status, address: source.address, id })
      return
    }
    const { level, message, fields } = failureLine(error, this.#hasStacks)
    const suppressed = this.#limit.count(
      `${record.source.method === 'gRPC' ? 'gRPC' : 'HTTP'} ${record.status} ${String(fields['name'])}`,
    )
    if (suppressed === undefined) return
    const request = requestFields(record, performance.now())
    this.write(level, message, { ...request, ...fields, ...counted(suppressed) })
  }
}

/** The lines that were not written to stderr yet. */
let waiting = ''

let isGuarded = false

/** Writes a line to stderr, together with the others of this turn of the event loop, because each write is a call of the system. */
function standardError(line: string): void {
  if (!isGuarded) {
    isGuarded = true
    // A program that reads it no longer does not end the server.
    process.stderr.on('error', () => {})
    process.on('exit', writeWaiting)
  }
  if (waiting === '') setImmediate(writeWaiting)
  waiting += line
}

function writeWaiting(): void {
  if (waiting !== '') process.stderr.write(waiting)
  waiting = ''
}

/** The time of the last line as text, because many lines have the same. */
let [lastTime, lastText] = [0, '']

function timeMember(): string {
  const now = Date.now()
  if (now !== lastTime) [lastTime, lastText] = [now, `,"time":"${new Date(now).toISOString()}"`]
  return lastText
}

const counted = (suppressed: number): LineFields => (suppressed === 0 ? {} : { suppressed })
