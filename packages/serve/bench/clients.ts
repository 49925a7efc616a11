import { once } from 'node:events'
import { connect, type ClientHttp2Session } from 'node:http2'
import { createConnection, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** Sends one request after the other. */
export interface Client {
  /** Sends a request. @returns when all bytes of the answer are there. @throws (rejects with) an error for a failed request. */
  send(request: Buffer): Promise<void>
  close(): void
}

/**
 * A connection of HTTP/1.1 that does as little as possible, so that the load takes less processor time than the servers. It reads only the
 * status and the `content-length` of an answer.
 */
class HttpClient implements Client {
  readonly #socket: Socket
  #settle: ((error?: Error) => void) | undefined
  /** The bytes of the answer that are still missing, or undefined before its head. */
  #missing: number | undefined
  #head = ''

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (chunk) => this.#read(chunk))
    socket.on('error', (error) => this.#settle?.(error))
    socket.on('close', () => this.#settle?.(new Error('the server ended the connection')))
  }

  static async open(port: number, isEncrypted: boolean): Promise<HttpClient> {
    const place = { host: '127.0.0.1', port }
    // The certificate of the server is one of its own.
    const socket = isEncrypted ? connectTls({ ...place, rejectUnauthorized: false }) : createConnection(place)
    await once(socket, isEncrypted ? 'secureConnect' : 'connect')
    return new HttpClient(socket)
  }

  send(request: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#settle = (error) => {
        this.#settle = undefined
        if (error === undefined) resolve()
        else reject(error)
      }
      // The server may have ended an idle connection.
      if (this.#socket.destroyed) this.#settle(new Error('the connection has ended'))
      else this.#socket.write(request)
    })
  }

  close(): void {
    this.#settle = undefined
    this.#socket.destroy()
  }

  #read(chunk: Buffer): void {
    if (this.#missing !== undefined) {
      this.#missing -= chunk.length
    } else {
      this.#head += chunk.toString('latin1', 0, 1024)
      const end = this.#head.indexOf('\r\n\r\n')
      if (end === -1) return
      const [, status] = /^HTTP\/1\.1 (\d+)/.exec(this.#head) ?? []
      const [, length] = /\r\ncontent-length: (\d+)/i.exec(this.#head) ?? []
      this.#head = ''
      if (status !== '200' || length === undefined) {
        this.#settle?.(new Error(`the answer must have the status 200 and a content-length, got ${status}`))
        return
      }
      this.#missing = Number(length) - (chunk.length - end - 4)
    }
    if (this.#missing > 0) return
    this.#missing = undefined
    this.#settle?.()
  }
}

/** One of the streams at the same time of a connection of HTTP/2, without what a client of gRPC checks. */
class GrpcClient implements Client {
  readonly #session: ClientHttp2Session

  constructor(session: ClientHttp2Session) {
    this.#session = session
  }

  send(request: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      const stream = this.#session.request({
        ':method': 'POST',
        ':path': '/inference.GRPCInferenceService/ModelInfer',
        'content-type': 'application/grpc',
        te: 'trailers',
      })
      let status: unknown
      const readStatus = (headers: Readonly<Record<string, unknown>>): void => void (status ??= headers['grpc-status'])
      stream.on('response', readStatus).on('trailers', readStatus).on('error', reject).resume()
      stream.on('end', () => (status === '0' ? resolve() : reject(new Error(`the status must be 0, got ${status}`))))
      stream.end(request)
    })
  }

  close(): void {
    this.#session.destroy()
  }
}

/** Opens connections of HTTP/1.1. */
export function openHttp(port: number, connections: number, isEncrypted: boolean): Promise<Client[]> {
  return Promise.all(Array.from({ length: connections }, () => HttpClient.open(port, isEncrypted)))
}

/** Opens connections of HTTP/2, each with some streams at the same time. */
export async function openGrpc(port: number, connections: number, streams: number): Promise<Client[]> {
  const sessions = Array.from({ length: connections }, () =>
    connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 2 ** 24 } }),
  )
  await Promise.all(sessions.map((session) => once(session, 'connect')))
  for (const session of sessions) session.setLocalWindowSize(2 ** 24)
  return sessions.flatMap((session) => Array.from({ length: streams }, () => new GrpcClient(session)))
}
