import type { Server, ServerCredentials, ServerInterceptingCall, ServerInterceptor } from '@grpc/grpc-js'
import type { Http2Server, IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import type { Server as TlsServer } from 'node:tls'
import { authorizationOf, identify, type Access } from '../access/access.ts'
import type { Caller, Need } from '../access/caller.ts'
import { RunDeadlines } from '../scheduler/run-deadlines.ts'
import { describeFailure } from '../service/describe-failure.ts'
import type { ServerState } from '../service/server-state.ts'
import { Handshakes } from '../tls/handshakes.ts'
import { Arrival } from './arrival.ts'
import { statusOf } from './failure-code.ts'
import { GrpcStream, setRecord } from './grpc-stream.ts'
import { needOf } from './method-needs.ts'

/** The arguments of the event `stream` of an HTTP/2 server. */
type StreamArguments = [
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders: readonly string[],
]

/** The connections of a server of gRPC. */
export interface GrpcConnections {
  /** Those of each listener with encryption that have not ended. */
  readonly handshakes: Handshakes[]
  readonly sessions: Set<ServerHttp2Session>
}

/** The stream whose call grpc-js makes now. */
let current: GrpcStream | undefined

/** Gives each call of grpc-js the record of its stream. A server of {@link admitStreams} has it as an interceptor. */
export const connectRecord: ServerInterceptor = (_method, call) => {
  setRecord(call, current!.record)
  return call as ServerInterceptingCall
}

/**
 * Lets the calls through that the server allows, before grpc-js reads their messages, and limits how their messages arrive. Call it before
 * the server listens.
 *
 * @returns the connections that the server gets.
 */
export function admitStreams(server: Server, state: ServerState): GrpcConnections {
  const deadlines = new RunDeadlines(state.limits.timeout)
  const connections: GrpcConnections = { handshakes: [], sessions: new Set() }
  const inner = server as unknown as { createHttp2Server(credentials: ServerCredentials): Http2Server }
  const create = inner.createHttp2Server.bind(server)
  inner.createHttp2Server = (credentials) => {
    const http2 = create(credentials)
    const handlers = http2.listeners('stream') as ((...args: StreamArguments) => void)[]
    http2.removeAllListeners('stream')
    if ('setSecureContext' in http2)
      connections.handshakes.push(new Handshakes(http2 as unknown as TlsServer, state.log))
    http2.on('session', (session) => {
      connections.sessions.add(session)
      session.once('close', () => connections.sessions.delete(session))
    })
    const admit = (call: GrpcStream, args: StreamArguments): void => {
      // The client can leave while its token is verified.
      if (call.stream.destroyed) return
      current = call
      for (const handle of handlers) handle(...args)
      current = undefined
      new Arrival(call, state, deadlines).watch()
    }
    http2.on('stream', (...args: StreamArguments) => {
      const [stream, headers, , rawHeaders] = args
      const call = new GrpcStream(stream, headers, state.log)
      if (state.access === undefined) admit(call, args)
      else decide(call, needOf(String(headers[':path'])), rawHeaders, state.access, () => admit(call, args))
    })
    return http2
  }
  return connections
}

/** Finds out who sends a call, and refuses it or admits it. */
function decide(call: GrpcStream, need: Need, rawHeaders: readonly string[], access: Access, admit: () => void): void {
  const { stream } = call
  const refuse = (error: unknown): void => {
    if (!stream.destroyed) call.fail(error, statusOf(describeFailure(error)))
  }
  const check = (caller: Caller): void => {
    try {
      call.record.caller = caller
      caller.check(need)
    } catch (error) {
      refuse(error)
      return
    }
    admit()
  }
  let caller: Caller | Promise<Caller>
  try {
    caller = identify(access, need, {
      authorization: authorizationOf(rawHeaders),
      socket: stream.session?.socket,
    })
  } catch (error) {
    refuse(error)
    return
  }
  if (!(caller instanceof Promise)) {
    check(caller)
    return
  }
  // The connection can break meanwhile, and grpc-js does not listen yet.
  stream.on('error', () => {})
  caller.then(check, refuse)
}
