import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { createServer, type InferenceServer, type Model, type ServerOptions } from '../src/index.ts'

/** What a client got. */
export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** The request of an inference over HTTP/1.1, behind which the connection stays open. @param length that of its body */
export const inferHead = (model: string, length: number): string =>
  `POST /v2/models/${model}/infer HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${length}\r\n\r\n`

/** The same with its body. */
export const inferText = (model: string, body: string): string => inferHead(model, body.length) + body

/** A connection, and the text that has come on it. */
export function connectTo({ server }: Served): { readonly socket: Socket; received(): string } {
  const socket = connect(server.port, '127.0.0.1')
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString()))
  return { socket, received: () => text }
}

/** A server that is closed at the end of the test, and a client for it. */
export class Served {
  readonly server: InferenceServer
  readonly errors: unknown[]

  private constructor(server: InferenceServer, errors: unknown[]) {
    this.server = server
    this.errors = errors
  }

  static async start(models: readonly Model[], options: Partial<ServerOptions> = {}): Promise<Served> {
    const errors: unknown[] = []
    const server = await createServer({
      models,
      http: { port: 0 },
      ...(options.log === undefined ? { logError: (error) => void errors.push(error) } : {}),
      ...options,
    })
    onTestFinished(() => server[Symbol.asyncDispose]())
    return new Served(server, errors)
  }

  /** Sends one request on a connection of its own. */
  send(
    method: string,
    path: string,
    body?: Uint8Array | string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const request = httpRequest(
        { host: '127.0.0.1', port: this.server.port, method, path, headers, agent: false },
        (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('error', reject)
          response.on('end', () => {
            resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) })
          })
        },
      )
      request.on('error', reject)
      request.end(body)
    })
  }

  async get(path: string): Promise<[status: number, json: unknown]> {
    const { status, body } = await this.send('GET', path)
    return [status, JSON.parse(body.toString())]
  }

  /** Sends JSON. The answer can be empty. */
  async post(path: string, json: object): Promise<[status: number, json: unknown]> {
    const { status, body } = await this.send('POST', path, JSON.stringify(json))
    return [status, body.length === 0 ? undefined : JSON.parse(body.toString())]
  }

  async infer(model: string, request: object): Promise<[status: number, json: Record<string, unknown>]> {
    const { status, body } = await this.send('POST', `/v2/models/${model}/infer`, JSON.stringify(request))
    return [status, JSON.parse(body.toString()) as Record<string, unknown>]
  }

  /** Sends tensors as bytes behind the JSON. */
  async inferBinary(model: string, request: object, parts: readonly Uint8Array[]): Promise<Reply> {
    const json = Buffer.from(JSON.stringify(request))
    const headers = { 'inference-header-content-length': String(json.length) }
    return this.send('POST', `/v2/models/${model}/infer`, Buffer.concat([json, ...parts]), headers)
  }
}

/** The input of a request with elements in JSON. */
export const input = (name: string, datatype: string, shape: readonly number[], data: unknown): object => ({
  name,
  datatype,
  shape,
  data,
})
