import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net'
import { UnauthenticatedError } from '../errors.ts'
import { describeFailure } from '../service/describe-failure.ts'
import { authorizationOf, identify, refuseTokenInUrl, type Access } from '../access/access.ts'
import type { Caller } from '../access/caller.ts'
import type { ServerState } from '../service/server-state.ts'
import { sendAnswer, type Answer } from './answer.ts'
import { answerBroken, endAnswered } from './answer-broken.ts'
import { discardRest, hasRest } from './discard-rest.ts'
import { HttpError, STATUS_OF } from './failure-status.ts'
import { Exchange } from './exchange.ts'
import type { Handler } from './handler.ts'
import { addressText, isLoopback } from './listen-address.ts'
import { Origins } from './origins.ts'
import type { Found, Router } from './router.ts'
import { sendStream, type StreamAnswer } from './send-stream.ts'
import { watchClients } from './watch-clients.ts'
import { Handshakes } from '../tls/handshakes.ts'
import type { TlsFiles } from '../tls/tls-files.ts'

/** Where a server listens. */
export interface HttpOptions {
  /** Default: `127.0.0.1`. Other machines reach the server only under another address. */
  readonly host?: string
  /** Default: 8000. 0 takes a free port. */
  readonly port?: number
  /** The origins of web pages that may send requests: `https://example.org`. Default: none. */
  readonly allowedOrigins?: readonly string[]
}

/** A listener and the paths that it answers. */
export interface Listener extends Required<HttpOptions> {
  readonly router: Router<Handler>
  /** Undefined without encryption. */
  readonly tls: TlsFiles | undefined
}

/** The parts of its server that a listener needs. */
type HttpState = Pick<ServerState, 'access' | 'limits' | 'log'>

/** The time in milliseconds in which a request must begin to arrive on a connection that was opened just before the server closes. */
const LONGEST_SILENCE = 1000

/** A listener for HTTP/1.1, with encryption or without. */
export class HttpServer {
  readonly #server: Server
  readonly #router: Router<Handler>
  /** The newest response of each connection, and the one before it if that was not written then. */
  readonly #newest: WeakMap<Socket, ServerResponse>
  readonly #beforeNewest = new WeakMap<Socket, ServerResponse>()
  /** The connections whose last answer is an error, which waits for the answers before it. */
  readonly #broken = new WeakSet<Socket>()
  readonly #connections: ReadonlySet<Socket>
  readonly #host: string
  readonly #origins: Origins
  readonly #state: HttpState
  readonly #handshakes: Handshakes | undefined
  /** The longest time in which a client reads nothing of its answer, in milliseconds. */
  readonly #timeout: number
  /** Whether connections end after the answer to their newest request. */
  #isClosing = false

  private constructor(state: HttpState, { host, allowedOrigins, router, tls }: Listener, connections: Set<Socket>) {
    this.#router = router
    this.#host = host
    this.#origins = new Origins(allowedOrigins, isLoopback(host))
    this.#state = state
    this.#timeout = state.limits.timeout
    this.#connections = connections
    const options = {
      requestTimeout: state.limits.timeout,
      headersTimeout: Math.min(10_000, state.limits.timeout),
      keepAliveTimeout: 75_000,
      connectionsCheckingInterval: 1000,
      maxHeaderSize: 16_384,
      // Node.js would answer without a text, so this server does it.
      requireHostHeader: false,
    }
    const listener = (request: IncomingMessage, response: ServerResponse): void => {
      this.#add(request.socket, response)
      void this.#answer(new Exchange(request, response))
    }
    if (tls === undefined) {
      this.#server = createHttpServer(options, listener)
    } else {
      // Node.js has these two for HTTP, and not for HTTPS.
      const secure = createHttpsServer(
        { ...options, ...tls.listenOptions, allowHalfOpen: true, noDelay: true },
        listener,
      )
      tls.onChange((context) => secure.setSecureContext(context))
      this.#handshakes = new Handshakes(secure, state.log)
      this.#server = secure
    }
    const connected = tls === undefined ? 'connection' : 'secureConnection'
    this.#server.on('checkContinue', (request, response) => {
      this.#add(request.socket, response)
      const exchange = new Exchange(request, response)
      exchange.awaitsContinue = true
      void this.#answer(exchange)
    })
    this.#server.on('checkExpectation', (request, response) => {
      this.#add(request.socket, response)
      // The body does not come.
      response.setHeader('connection', 'close')
      const exchange = new Exchange(request, response)
      exchange.record.error = new HttpError(417, 'the Expect must be 100-continue')
      sendAnswer(exchange, answerTo(exchange.record.error), this.#timeout)
      state.log.end(exchange.record)
      exchange.leave()
    })
    this.#server.maxConnections = 20_000
    this.#server.on(connected, (socket: Socket) => {
      connections.add(socket)
      socket.once('close', () => connections.delete(socket))
    })
    this.#server.on('clientError', (error, socket: Socket) => {
      // Those without a handshake cannot be answered.
      if (this.#broken.has(socket) || !connections.has(socket)) return
      const answer = (): void => answerBroken(error, socket, this.#timeout)
      const newest = this.#newest.get(socket)
      // A second answer to the request with the wrong bytes would be taken for that of the next request.
      if (newest?.req.complete === false && newest.headersSent) {
        endAnswered(newest, socket, this.#timeout)
        return
      }
      // The requests before the wrong bytes may be complete. Their answers are sent first.
      const whole = newest?.req.complete === false ? this.#beforeNewest.get(socket) : newest
      if (whole === undefined || whole.writableFinished || whole.destroyed) {
        answer()
        return
      }
      this.#broken.add(socket)
      whole.once('finish', answer)
    })
    this.#newest = watchClients(this.#server, connected)
  }

  /** @throws (rejects with) the system's error if the address is in use, or not one of this machine. */
  static async listen(state: HttpState, listener: Listener, connections: Set<Socket>): Promise<HttpServer> {
    const { host, port } = listener
    const http = new HttpServer(state, listener, connections)
    await new Promise<void>((resolve, reject) => {
      http.#server.once('error', reject)
      http.#server.listen({ host, port }, () => {
        http.#server.off('error', reject)
        resolve()
      })
    })
    return http
  }

  /** The port on which it listens. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** The host and the port. */
  get address(): string {
    return addressText(this.#host, this.port)
  }

  /** Ends each connection after the answer to its newest request. */
  endConnections(): void {
    this.#isClosing = true
    for (const socket of this.#connections) {
      const newest = this.#newest.get(socket)
      // It waits for answers before it, and its head does not say that the connection ends.
      if (newest?.headersSent !== true || newest.writableFinished) continue
      newest.once('finish', () => {
        if (this.#newest.get(socket) === newest) socket.end()
      })
    }
  }

  #add(socket: Socket, response: ServerResponse): void {
    const before = this.#newest.get(socket)
    if (before === undefined || before.writableFinished) this.#beforeNewest.delete(socket)
    else this.#beforeNewest.set(socket, before)
    this.#newest.set(socket, response)
  }

  /** Stops listening, ends idle connections, and resolves when the last request was answered. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      const silence = setTimeout(() => this.#endSilent(), LONGEST_SILENCE).unref()
      const end = (): void => {
        clearTimeout(silence)
        this.#server.close()
        resolve()
      }
      // http.Server.close() would also stop checking the time limits of requests. That of Bun is not a net.Server.
      if ((this.#server as object) instanceof NetServer) NetServer.prototype.close.call(this.#server, end)
      else this.#server.close(end)
      this.#server.closeIdleConnections()
    })
  }

  /** Ends connections on which nothing has come. Node.js does not count them as idle. */
  #endSilent(): void {
    this.#handshakes?.end()
    for (const socket of this.#connections) if (socket.bytesRead === 0) socket.destroy()
  }

  /** Ends all connections at once. */
  abort(): void {
    this.#handshakes?.end()
    this.#server.closeAllConnections()
  }

  async #answer(exchange: Exchange): Promise<void> {
    const { request, response, record } = exchange
    const { method = '', headers, httpVersion } = request
    let answer: Answer | StreamAnswer
    const fail = (error: unknown): Answer => {
      record.error = error
      return answerTo(error, exchange.parts['model'])
    }
    try {
      if (headers.host === undefined && httpVersion === '1.1') throw new HttpError(400, 'the request must have a Host')
      checkTransferEncoding(headers['transfer-encoding'], httpVersion)
      this.#origins.check(headers)
      const preflight = this.#origins.preflight(method, headers)
      const { access } = this.#state
      if (preflight !== undefined) answer = preflight
      else if (access === undefined) answer = await run(exchange, this.#router.find(method, exchange.path), undefined)
      else answer = await this.#handle(exchange, method, access)
    } catch (error) {
      answer = fail(error)
    }
    try {
      if (response.destroyed) {
        record.leave()
        return
      }
      // Node.js drops the answers behind one that ends the connection.
      const isLast = this.#newest.get(request.socket) === response
      const isRefused = 'status' in answer && (answer.status === 401 || answer.status === 403)
      // A client that was not asked for the body may send it or not.
      if (isLast && (this.#isClosing || exchange.awaitsContinue)) response.setHeader('connection', 'close')
      else if (!exchange.hasRead && hasRest(request)) discardRest(request, isRefused)
      this.#origins.allow(headers, response)
      if ('parts' in answer) await sendStream(exchange, answer, this.#timeout, fail)
      else sendAnswer(exchange, answer, this.#timeout)
    } finally {
      this.#state.log.end(record)
      exchange.leave()
    }
  }

  /** Finds out who sends a request before its path is answered, so that callers without credentials do not learn which paths there are. */
  #handle(exchange: Exchange, method: string, access: Access): ReturnType<Handler> {
    const { request, record } = exchange
    refuseTokenInUrl(request.url)
    let found: Found<Handler> | undefined
    let problem: unknown
    try {
      found = this.#router.find(method, exchange.path)
    } catch (error) {
      problem = error
    }
    const caller = identify(access, found?.need ?? 'caller', {
      authorization: authorizationOf(request.rawHeaders),
      socket: request.socket,
    })
    const answer = (known: Caller): ReturnType<Handler> => {
      record.caller = known
      if (found === undefined) throw problem
      return run(exchange, found, known)
    }
    return caller instanceof Promise ? caller.then(answer) : answer(caller)
  }
}

/** @param caller undefined if the server does not tell callers apart. */
function run(
  exchange: Exchange,
  { handler, need, parts }: Found<Handler>,
  caller: Caller | undefined,
): ReturnType<Handler> {
  exchange.parts = parts
  caller?.check(need, parts['model'])
  if (exchange.awaitsContinue) {
    exchange.awaitsContinue = false
    exchange.response.writeContinue()
  }
  return handler(exchange)
}

/** Node.js reads a body as chunks if this is the last encoding, and leaves the others and HTTP/1.0 to the server. @throws {HttpError} */
function checkTransferEncoding(encoding: string | undefined, httpVersion: string): void {
  if (encoding === undefined || (encoding.toLowerCase() === 'chunked' && httpVersion === '1.1')) return
  throw new HttpError(400, 'the request must be HTTP/1.1 with the transfer-encoding chunked', { connection: 'close' })
}

function answerTo(error: unknown, model?: string): Answer {
  const asJson = (message: string): string => JSON.stringify({ error: message })
  if (error instanceof HttpError) return { status: error.status, text: asJson(error.message), headers: error.headers }
  const { kind, message } = describeFailure(error, model)
  const headers: Record<string, string> = {}
  if (kind === 'unavailable') headers['retry-after'] = '1'
  if (error instanceof UnauthenticatedError) {
    const { challenge } = error.details
    headers['www-authenticate'] =
      `Bearer realm="tenon"${challenge === undefined ? '' : `, error="${String(challenge)}"`}`
  }
  return { status: STATUS_OF[kind], text: asJson(message), headers }
}
