import {
  Server,
  status,
  ServerCredentials,
  type handleUnaryCall,
  type ServerDuplexStream,
  type ServerWritableStream,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js'
import { constants } from 'node:http2'
import { Health } from '../generated/health_pb.js'
import { GRPCInferenceService } from '../generated/open_inference_pb.js'
import { Cancellation } from '../service/cancellation.ts'
import { describeFailure } from '../service/describe-failure.ts'
import type { RequestRecord } from '../log/request-record.ts'
import type { Message } from './encode-response.ts'
import type { GrpcExchange } from './infer.ts'
import type { ServerState } from '../service/server-state.ts'
import type { Carrier } from '../tracing/trace-context.ts'
import { addressText } from '../http/listen-address.ts'
import { statusOf } from './failure-code.ts'
import { GrpcCredentials } from '../tls/grpc-credentials.ts'
import type { TlsFiles } from '../tls/tls-files.ts'
import { admitStreams, connectRecord, type GrpcConnections } from './admit-streams.ts'
import { recordOf } from './grpc-stream.ts'
import { checkHealth, unaryHandlers, watchHealth, type UnaryHandler } from './handlers.ts'
import { serviceDefinition } from './service-definition.ts'
import { streamInfer } from './stream-infer.ts'

/** Where a server listens for gRPC. */
export interface GrpcOptions {
  /** Default: `127.0.0.1`. Other machines reach the server only under another address. */
  readonly host?: string
  /** Default: 8001. 0 takes a free port. */
  readonly port?: number
}

/** What a message has besides the bytes of its tensors. */
const ENVELOPE_BYTES = 2 ** 20

/** The methods of the protocol over gRPC, with encryption or without (h2c). */
export class GrpcServer {
  readonly #server: Server
  readonly #connections: GrpcConnections
  /** The port on which it listens. */
  readonly port: number
  /** The host and the port. */
  readonly address: string

  private constructor(server: Server, host: string, port: number, connections: GrpcConnections) {
    this.#server = server
    this.#connections = connections
    this.port = port
    this.address = addressText(host, port)
  }

  /** @throws (rejects with) the system's error if the address is in use, or not one of this machine. */
  static async listen(state: ServerState, options: GrpcOptions, tls: TlsFiles | undefined): Promise<GrpcServer> {
    const { host = '127.0.0.1', port = 8001 } = options
    const server = new Server({
      'grpc.max_receive_message_length': state.limits.bytes + ENVELOPE_BYTES,
      'grpc.max_send_message_length': -1,
      'grpc.max_concurrent_streams': 128,
      // Connections whose clients have vanished end.
      'grpc.keepalive_time_ms': 60_000,
      'grpc.keepalive_timeout_ms': 20_000,
      // Nothing reads what grpc-js would count of each call. Without it, forceShutdown() ends no connections.
      'grpc.enable_channelz': 0,
      interceptors: [connectRecord],
    })
    const connections = admitStreams(server, state)
    server.addService(serviceDefinition(GRPCInferenceService), methodsOf(state))
    server.addService(serviceDefinition(Health), {
      Check: unary(state, (bytes, { record }) => checkHealth(state, bytes, record.caller)),
      Watch: (call: ServerWritableStream<Buffer, Buffer>) => watchOrFail(state, call),
    })
    const bound = await new Promise<number>((resolve, reject) => {
      server.bindAsync(
        addressText(host, port),
        tls === undefined ? ServerCredentials.createInsecure() : new GrpcCredentials(tls),
        (error, found) => (error === null ? resolve(found) : reject(error)),
      )
    })
    return new GrpcServer(server, host, bound, connections)
  }

  /** Refuses new calls, and resolves when the last one was answered. */
  close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.tryShutdown(() => resolve()))
    for (const one of this.#connections.handshakes) one.end()
    return closed
  }

  /** Ends all connections at once. */
  abort(): void {
    const { handshakes, sessions } = this.#connections
    for (const one of handshakes) one.end()
    this.#server.forceShutdown()
    // The types of Node.js do not have the number.
    for (const session of sessions) session.destroy(constants.NGHTTP2_CANCEL as unknown as Error)
  }
}

function methodsOf(state: ServerState): UntypedServiceImplementation {
  const handlers = unaryHandlers(state)
  return {
    ...Object.fromEntries(Object.entries(handlers).map(([name, handler]) => [name, unary(state, handler)])),
    ModelStreamInfer: (call: ServerDuplexStream<Buffer, Buffer>) => {
      const cancellation = new Cancellation()
      call.once('cancelled', () => cancellation.cancel(new Error('the client is gone')))
      const record = recordOf(call)
      streamInfer(state, call, { cancellation, carrier: carrierOf(record), record }).catch((error: unknown) => {
        // A server that closes has ended the call itself.
        if (!cancellation.isCancelled && state.life.isOpen) call.destroy(error as Error)
      })
    },
  }
}

const NO_CARRIER: Carrier = {}

/** The metadata that can name the client's trace. */
function carrierOf({ source }: RequestRecord): Carrier {
  const traceparent = source.header('traceparent')
  return traceparent === undefined ? NO_CARRIER : { traceparent, tracestate: source.header('tracestate') }
}

function unary(state: ServerState, handler: UnaryHandler): handleUnaryCall<Buffer, Buffer> {
  return (call, callback) => {
    const cancellation = new Cancellation()
    const record = recordOf(call)
    const exchange: GrpcExchange = {
      cancellation,
      carrier: carrierOf(record),
      record,
      model: undefined,
      onCopied: undefined,
    }
    record.bytesIn = call.request.length
    let isAnswered = false
    // The event follows an answer, too.
    call.on('cancelled', () => {
      if (!isAnswered) cancellation.cancel(new Error('the client is gone'))
    })
    const succeed = (message: Message): void => {
      isAnswered = true
      record.status = status.OK
      record.bytesOut = message.byteLength
      state.log.end(record)
      try {
        // grpc-js copies it behind a head of its own at once, and needs no more of a buffer than that.
        callback(null, message as Buffer)
      } finally {
        exchange.onCopied?.()
      }
    }
    const fail = (error: unknown): void => {
      const answer = statusOf(describeFailure(error, exchange.model))
      isAnswered = true
      record.status = answer.code
      if (cancellation.isCancelled) record.leave()
      else record.error = error
      state.log.end(record)
      callback(answer)
    }
    let answer: Message | Promise<Message>
    try {
      answer = handler(call.request, exchange)
    } catch (error) {
      fail(error)
      return
    }
    if (answer instanceof Promise) void answer.then(succeed, fail)
    else succeed(answer)
  }
}

function watchOrFail(state: ServerState, call: ServerWritableStream<Buffer, Buffer>): void {
  try {
    watchHealth(state, call)
  } catch (error) {
    call.emit('error', statusOf(describeFailure(error)))
  }
}
