import { status, type ServerUnaryCall } from '@grpc/grpc-js'
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { InvalidRequestError } from '../errors.ts'
import type { Log } from '../log/log.ts'
import { RequestRecord, type RequestSource } from '../log/request-record.ts'
import type { statusOf } from './failure-code.ts'

/** Clients may be silent between the messages of this method. All others have one message. */
const STREAM = '/ModelStreamInfer'

/** A call of gRPC as its HTTP/2 stream, which is there before grpc-js has read a message. */
export class GrpcStream implements RequestSource {
  readonly method = 'gRPC'
  readonly stream: ServerHttp2Stream
  /** Read at once, because the session of a client that has left has no socket. */
  readonly address: string | undefined
  readonly record: RequestRecord = new RequestRecord(this)
  readonly #headers: IncomingHttpHeaders
  readonly #log: Log

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, log: Log) {
    this.stream = stream
    this.address = stream.session?.socket.remoteAddress
    this.#headers = headers
    this.#log = log
  }

  /** The name of the method. A path can have a query, and the query a secret. */
  get path(): string {
    return String(this.#headers[':path']).split('?', 1)[0]!.split('/').at(-1)!
  }

  /** Whether each message is a request of its own, and has a record of its own. */
  get isStream(): boolean {
    return String(this.#headers[':path']).endsWith(STREAM)
  }

  header(name: string): string | undefined {
    return this.#headers[name]?.toString()
  }

  /** Ends the call with an error, also while its message arrives. */
  fail(error: unknown, { code, details }: ReturnType<typeof statusOf>): void {
    const { stream, record } = this
    record.error = error
    record.status = code
    this.#log.end(record)
    if (stream.headersSent || stream.destroyed) {
      stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
      return
    }
    const trailers = { 'grpc-status': String(code), 'grpc-message': encodeURI(details) }
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...trailers }, { endStream: true })
    stream.close(constants.NGHTTP2_NO_ERROR)
  }

  /** Ends the record if no handler has done so, because grpc-js has answered the call, or the client has left. Called when the stream has closed. */
  close(): void {
    const { stream, record } = this
    if (record.hasEnded) return
    const sent = { ...stream.sentHeaders, ...stream.sentTrailers }
    const code = sent['grpc-status'] === undefined ? undefined : Number(sent['grpc-status'])
    record.status ??= code
    if (code === undefined || code === status.DEADLINE_EXCEEDED) record.leave()
    else if (code !== status.OK) record.error ??= new InvalidRequestError(decodeURI(String(sent['grpc-message'])))
    else if (this.isStream) return
    this.#log.end(record)
  }
}

/** The authentication context of a call, which the server replaces by its own. */
type OwnContext = ReturnType<ServerUnaryCall<unknown, unknown>['getAuthContext']> & { readonly record: RequestRecord }

/** Connects the call of grpc-js with the record of its stream. */
export function setRecord(
  call: Pick<ServerUnaryCall<unknown, unknown>, 'getAuthContext'>,
  record: RequestRecord,
): void {
  const context: OwnContext = { record }
  call.getAuthContext = () => context
}

/** The record of a call. */
export const recordOf = (call: Pick<ServerUnaryCall<unknown, unknown>, 'getAuthContext'>): RequestRecord =>
  (call.getAuthContext() as OwnContext).record
