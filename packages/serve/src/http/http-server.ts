import { createServer, STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Cancellation } from '../service/cancellation.ts'
import { describeFailure } from '../service/describe-failure.ts'
import type { LogError, ServerState } from '../service/server-state.ts'
import { sendAnswer, type Answer } from './answer.ts'
import { HttpError, STATUS_OF } from './failure-status.ts'
import { routesOf, type Handler } from './handlers.ts'
import type { Router } from './router.ts'

/** Where a server listens. */
export interface HttpOptions {
  /** Default: `127.0.0.1`. Other machines reach the server only under another address. */
  readonly host?: string
  /** Default: 8000. 0 takes a free port. */
  readonly port?: number
}

const LOOPBACK_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]'])

/** The paths of the protocol over HTTP/1.1. */
export class HttpServer {
  readonly #server: Server
  readonly #router: Router<Handler>
  readonly #isLoopback: boolean
  readonly #logError: LogError
  /** Whether connections end after their next answer. */
  #isClosing = false

  private constructor(state: ServerState, host: string, connections: Set<Socket>) {
    this.#router = routesOf(state)
    this.#isLoopback = host === 'localhost' || host === '::1' || host.startsWith('127.')
    this.#logError = state.logError
    this.#server = createServer(
      {
        requestTimeout: state.limits.timeout,
        headersTimeout: Math.min(10_000, state.limits.timeout),
        keepAliveTimeout: 75_000,
        connectionsCheckingInterval: 1000,
        maxHeaderSize: 16_384,
      },
      (request, response) => void this.#answer(request, response),
    )
    this.#server.maxConnections = 20_000
    this.#server.on('connection', (socket) => {
      connections.add(socket)
      socket.once('close', () => connections.delete(socket))
    })
    this.#server.on('clientError', answerBroken)
  }

  /** @throws (rejects with) the system's error if the address is in use, or not one of this machine. */
  static async listen(state: ServerState, options: HttpOptions, connections: Set<Socket>): Promise<HttpServer> {
    const { host = '127.0.0.1', port = 8000 } = options
    const http = new HttpServer(state, host, connections)
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

  /** Ends each connection after its next answer. */
  endConnections(): void {
    this.#isClosing = true
  }

  /** Stops listening, ends idle connections, and resolves when the last request was answered. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      this.#server.closeIdleConnections()
    })
  }

  /** Ends all connections at once. */
  abort(): void {
    this.#server.closeAllConnections()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request
    const path = url.split('?', 1)[0]!
    const cancellation = new Cancellation()
    response.once('close', () => {
      if (!response.writableFinished) cancellation.cancel(new Error('the client is gone'))
    })
    const actions: (() => Promise<void>)[] = []
    let parts: Readonly<Record<string, string>> = {}
    let answer: Answer
    try {
      this.#checkOrigin(request)
      const found = this.#router.find(method, path)
      parts = found.parts
      const onEnd = (action: () => Promise<void>): void => void actions.push(action)
      answer = await found.handler({ request, parts, cancellation, onEnd })
    } catch (error) {
      if (!response.destroyed) this.#logError(error, { method, path })
      answer = answerTo(error, parts['model'])
    }
    try {
      if (response.destroyed) return
      if (this.#isClosing || hasUnreadBody(request)) response.setHeader('connection', 'close')
      await sendAnswer(response, answer, request.headers['accept-encoding'])
    } finally {
      for (const action of actions.toReversed()) await action()
    }
  }

  /** Refuses the requests of web pages to a server of this machine. @throws {HttpError} */
  #checkOrigin({ headers }: IncomingMessage): void {
    if (headers.origin !== undefined) throw new HttpError(403, 'requests of web pages are not answered')
    if (!this.#isLoopback) return
    const host = headers.host?.replace(/:\d+$/, '').toLowerCase()
    if (host !== undefined && !LOOPBACK_HOSTS.has(host))
      throw new HttpError(403, 'the Host must be a name of this machine')
  }
}

/** Whether the client may still be sending. It gets the answer, and then the connection ends. */
function hasUnreadBody({ headers, complete }: IncomingMessage): boolean {
  return !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)
}

function answerTo(error: unknown, model: string | undefined): Answer {
  const asJson = (message: string): string => JSON.stringify({ error: message })
  if (error instanceof HttpError) return { status: error.status, text: asJson(error.message), headers: error.headers }
  const { kind, message } = describeFailure(error, model)
  const headers = kind === 'unavailable' ? { 'retry-after': '1' } : {}
  return { status: STATUS_OF[kind], text: asJson(message), headers }
}

/** Answers a request that is not HTTP, or that came too slowly. */
function answerBroken(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const status = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : error.code === 'HPE_HEADER_OVERFLOW' ? 431 : 400
  const body = JSON.stringify({ error: status === 408 ? 'the request took too long' : 'the request must be HTTP/1.1' })
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
  socket.end(head + body)
}
