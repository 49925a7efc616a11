import { connect } from 'node:net'

/** An answer of HTTP/1.1. */
export interface HttpAnswer {
  /** 0 if the connection ended without an answer. */
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** The longest time for one exchange in milliseconds. A server that has not answered then hangs. */
export const PATIENCE = 20_000

/**
 * Writes bytes on a connection of its own, and reads the first answer.
 *
 * @param parts are written one after the other. @param isHalfClosed whether the client ends its side behind the last one.
 */
export function exchange(
  port: number,
  parts: readonly (string | Uint8Array)[],
  isHalfClosed = false,
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    const chunks: Buffer[] = []
    const timer = setTimeout(() => {
      socket.destroy()
      reject(new Error(`no answer within ${PATIENCE} ms`))
    }, PATIENCE)
    socket.on('data', (chunk: Buffer) => void chunks.push(chunk))
    socket.on('end', () => socket.end())
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(parseAnswer(Buffer.concat(chunks)))
    })
    for (const part of parts) socket.write(part)
    if (isHalfClosed) socket.end()
  })
}

/** The bytes of a request with a body, which ends its connection. */
export function requestOf(
  path: string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string | number>> = {},
  method = 'POST',
): Buffer {
  const all = { host: 'localhost', connection: 'close', 'content-length': Buffer.byteLength(body), ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  const head = [`${method} ${path} HTTP/1.1`, ...lines, '', ''].join('\r\n')
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body)])
}

/** Reads the first answer that is not a provisional one. */
function parseAnswer(bytes: Buffer): HttpAnswer {
  const end = bytes.indexOf('\r\n\r\n')
  if (bytes.toString('latin1', 9, 12) === '100') return parseAnswer(bytes.subarray(end + 4))
  if (end === -1) return { status: 0, headers: {}, body: bytes }
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(':')
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()]
    }),
  )
  const length = Number(headers['content-length'] ?? bytes.length)
  return { status: Number(first.slice(9, 12)), headers, body: bytes.subarray(end + 4, end + 4 + length) }
}
