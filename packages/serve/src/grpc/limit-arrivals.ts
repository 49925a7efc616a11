import { status, type Server, type ServerCredentials } from '@grpc/grpc-js'
import { constants, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { ModelUnavailableError } from '../errors.ts'
import { RunDeadlines, type LimitedRun } from '../scheduler/run-deadlines.ts'
import { ByteShare } from '../service/byte-budget.ts'
import { Cancellation } from '../service/cancellation.ts'
import { describeFailure } from '../service/describe-failure.ts'
import type { ServerState } from '../service/server-state.ts'
import { statusOf } from './failure-code.ts'

/** The bytes in front of a message: whether it is compressed, and its length. */
const HEAD = 5

/** Clients may be silent between the messages of this method. All others have one message. */
const STREAM = '/ModelStreamInfer'

/**
 * Counts the bytes of messages that have arrived in part, and ends calls whose messages take too long, or never begin. grpc-js passes a message on
 * when all of it has arrived, and the only message of a call when the client has ended its side, so its HTTP/2 streams are watched. Call it
 * before the server listens.
 */
export function limitArrivals(server: Server, state: ServerState): void {
  const deadlines = new RunDeadlines(state.limits.timeout)
  const inner = server as unknown as { createHttp2Server(credentials: ServerCredentials): Http2Server }
  const create = inner.createHttp2Server.bind(server)
  inner.createHttp2Server = (credentials) => {
    const http2 = create(credentials)
    http2.on('stream', (stream, headers) => new Arrival(stream, headers, state, deadlines))
    return http2
  }
}

/** The message of one stream that is arriving. */
class Arrival {
  readonly #stream: ServerHttp2Stream
  readonly #headers: IncomingHttpHeaders
  readonly #state: ServerState
  readonly #deadlines: RunDeadlines
  readonly #share: ByteShare
  /** The bytes of the head that have arrived, and the length that they state. */
  #head = 0
  #length = 0
  /** The bytes of the message that have arrived, with its head. */
  #arrived = 0
  #run: LimitedRun | undefined
  #hasOneMessage = false

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, state: ServerState, deadlines: RunDeadlines) {
    this.#stream = stream
    this.#headers = headers
    this.#state = state
    this.#deadlines = deadlines
    this.#share = new ByteShare(state.budget, new Cancellation())
    stream.on('data', (chunk: Buffer) => this.#read(chunk))
    stream.once('close', () => this.#close())
    if (String(headers[':path']).endsWith(STREAM)) return
    this.#hasOneMessage = true
    this.#limit()
    stream.once('end', () => this.#stopLimit())
  }

  #limit(): void {
    this.#run ??= this.#deadlines.add(() => this.#fail(TOO_SLOW))
  }

  #stopLimit(): void {
    if (this.#run !== undefined) this.#deadlines.delete(this.#run)
    this.#run = undefined
  }

  #read(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      if (this.#head < HEAD) {
        // The first byte says whether the message is compressed.
        this.#length = this.#head === 0 ? 0 : this.#length * 256 + chunk[at]!
        this.#head++
        this.#arrived++
        at++
      }
      const taken = this.#head < HEAD ? 0 : Math.min(this.#length + HEAD - this.#arrived, chunk.length - at)
      this.#arrived += taken
      at += taken
      if (this.#head === HEAD && this.#arrived === this.#length + HEAD) this.#end()
    }
    if (this.#arrived === 0 || this.#stream.closed) return
    this.#limit()
    if (!this.#share.tryReserve(this.#arrived)) this.#fail(statusOf(describeFailure(this.#state.budget.outOfMemory())))
  }

  /** The message is complete. */
  #end(): void {
    if (!this.#hasOneMessage) this.#stopLimit()
    this.#share.release()
    this.#head = this.#arrived = 0
  }

  #close(): void {
    this.#stopLimit()
    this.#end()
  }

  #fail({ code, details }: ReturnType<typeof statusOf>): void {
    const stream = this.#stream
    this.#close()
    const path = String(this.#headers[':path']).split('/').at(-1)!
    const address = stream.session?.socket.remoteAddress
    const id = this.#headers['x-request-id']?.toString()
    this.#state.logError(new ModelUnavailableError(details), { method: 'gRPC', path, status: code, address, id })
    if (stream.headersSent || stream.destroyed) {
      stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
      return
    }
    const trailers = { 'grpc-status': String(code), 'grpc-message': encodeURI(details) }
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...trailers }, { endStream: true })
    stream.close(constants.NGHTTP2_NO_ERROR)
  }
}

const TOO_SLOW = { code: status.DEADLINE_EXCEEDED, details: 'the request took too long' } as const
