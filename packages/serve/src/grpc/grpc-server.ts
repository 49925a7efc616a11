import {
  Server,
  ServerCredentials,
  type handleUnaryCall,
  type ServerDuplexStream,
  type ServerWritableStream,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js'
import { Health } from '../generated/health_pb.js'
import { GRPCInferenceService } from '../generated/open_inference_pb.js'
import { Cancellation } from '../service/cancellation.ts'
import { describeFailure } from '../service/describe-failure.ts'
import type { ServerState } from '../service/server-state.ts'
import { statusOf } from './failure-code.ts'
import {
  checkHealth,
  streamInfer,
  unaryHandlers,
  watchHealth,
  type GrpcExchange,
  type UnaryHandler,
} from './handlers.ts'
import { serviceDefinition } from './service-definition.ts'

/** Where a server listens for gRPC. */
export interface GrpcOptions {
  /** Default: `127.0.0.1`. Other machines reach the server only under another address. */
  readonly host?: string
  /** Default: 8001. 0 takes a free port. */
  readonly port?: number
}

/** What a message has besides the bytes of its tensors. */
const ENVELOPE_BYTES = 2 ** 20

/** The methods of the protocol over gRPC, without encryption (h2c). */
export class GrpcServer {
  readonly #server: Server
  /** The port on which it listens. */
  readonly port: number

  private constructor(server: Server, port: number) {
    this.#server = server
    this.port = port
  }

  /** @throws (rejects with) the system's error if the address is in use, or not one of this machine. */
  static async listen(state: ServerState, options: GrpcOptions): Promise<GrpcServer> {
    const { host = '127.0.0.1', port = 8001 } = options
    const server = new Server({
      'grpc.max_receive_message_length': state.limits.bytes + ENVELOPE_BYTES,
      'grpc.max_send_message_length': -1,
      'grpc.max_concurrent_streams': 128,
    })
    server.addService(serviceDefinition(GRPCInferenceService), methodsOf(state))
    server.addService(serviceDefinition(Health), {
      Check: unary(state, 'Check', (bytes) => checkHealth(state, bytes)),
      Watch: (call: ServerWritableStream<Buffer, Buffer>) => watchOrFail(state, call),
    })
    const bound = await new Promise<number>((resolve, reject) => {
      server.bindAsync(
        `${host.includes(':') ? `[${host}]` : host}:${port}`,
        ServerCredentials.createInsecure(),
        (error, found) => (error === null ? resolve(found) : reject(error)),
      )
    })
    return new GrpcServer(server, bound)
  }

  /** Refuses new calls, and resolves when the last one was answered. */
  close(): Promise<void> {
    return new Promise((resolve) => this.#server.tryShutdown(() => resolve()))
  }

  /** Ends all connections at once. */
  abort(): void {
    this.#server.forceShutdown()
  }
}

function methodsOf(state: ServerState): UntypedServiceImplementation {
  const handlers = unaryHandlers(state)
  return {
    ...Object.fromEntries(Object.entries(handlers).map(([name, handler]) => [name, unary(state, name, handler)])),
    ModelStreamInfer: (call: ServerDuplexStream<Buffer, Buffer>) => {
      const cancellation = new Cancellation()
      call.once('cancelled', () => cancellation.cancel(new Error('the client is gone')))
      streamInfer(state, call, cancellation).catch((error: unknown) => {
        if (!cancellation.isCancelled) call.destroy(error as Error)
      })
    },
  }
}

function unary(state: ServerState, path: string, handler: UnaryHandler): handleUnaryCall<Buffer, Buffer> {
  return (call, callback) => {
    const exchange: GrpcExchange = { cancellation: new Cancellation(), model: undefined }
    const { cancellation } = exchange
    call.once('cancelled', () => cancellation.cancel(new Error('the client is gone')))
    const answer = async (): Promise<void> => {
      let bytes: Buffer
      try {
        bytes = await handler(call.request, exchange)
      } catch (error) {
        if (!cancellation.isCancelled) state.logError(error, { method: 'gRPC', path })
        callback(statusOf(describeFailure(error, exchange.model)))
        return
      }
      callback(null, bytes)
    }
    void answer()
  }
}

function watchOrFail(state: ServerState, call: ServerWritableStream<Buffer, Buffer>): void {
  try {
    watchHealth(state, call)
  } catch (error) {
    call.emit('error', statusOf(describeFailure(error)))
  }
}
