import { connect, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2'
import { PATIENCE } from './exchange.ts'

/** The end of a call. */
export interface GrpcEnd {
  /** The status, or `http <status>` without one, or `reset` for a stream that was reset. */
  readonly code: string
  readonly message: string
}

/** A call as it crosses the network, without a client that would refuse to send it. */
export interface RawCall {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The bytes to write to the stream. */
  readonly parts: readonly Uint8Array[]
}

/** A message in its frame. @param flags 1 for a compressed message. @param length what the frame says. */
export function frame(message: Uint8Array, flags = 0, length: number = message.length): Buffer {
  const head = Buffer.alloc(5)
  head[0] = flags
  head.writeUInt32BE(length, 1)
  return Buffer.concat([head, message])
}

/** Opens a connection, and closes it when `use` has ended. */
export async function withSession<Result>(
  port: number,
  use: (session: ClientHttp2Session) => Promise<Result>,
): Promise<Result> {
  const session = connect(`http://127.0.0.1:${port}`)
  session.on('error', () => {})
  try {
    return await use(session)
  } finally {
    session.destroy()
  }
}

/** Makes one call. */
export function call(
  session: ClientHttp2Session,
  { method = 'ModelInfer', headers = {}, parts }: RawCall,
): Promise<GrpcEnd> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': method.startsWith('/') ? method : `/inference.GRPCInferenceService/${method}`,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers,
    })
    const timer = setTimeout(() => {
      stream.destroy()
      reject(new Error(`no answer within ${PATIENCE} ms`))
    }, PATIENCE)
    let http = 200
    let trailers: IncomingHttpHeaders = {}
    stream.on('response', (received) => {
      http = received[':status'] ?? 200
      trailers = { ...trailers, ...received }
    })
    stream.on('trailers', (received) => (trailers = { ...trailers, ...received }))
    stream.on('error', () => {})
    stream.on('close', () => {
      clearTimeout(timer)
      const code = trailers['grpc-status'] ?? (http === 200 ? 'reset' : `http ${http}`)
      resolve({ code: String(code), message: decodeURIComponent(String(trailers['grpc-message'] ?? '')) })
    })
    stream.resume()
    for (const part of parts) stream.write(part)
    stream.end()
  })
}
