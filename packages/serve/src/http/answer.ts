import type { ServerResponse } from 'node:http'
import { deflateSync, gzipSync } from 'node:zlib'

/** An answer: its status, its text, and the bytes behind it. */
export interface Answer {
  readonly status: number
  readonly text: string
  /** Default: `application/json`, or `application/octet-stream` with bytes behind the text. */
  readonly contentType?: string
  readonly binary?: readonly Uint8Array[]
  readonly headers?: Readonly<Record<string, string>>
}

/** Bodies that are smaller are not compressed. */
const SMALLEST_COMPRESSED = 1024

/** Writes an answer. @param accepted the client's `accept-encoding`. @returns when its bytes are not needed any more. */
export function sendAnswer(response: ServerResponse, answer: Answer, accepted: string | undefined): Promise<void> {
  const { status, binary = [], contentType = 'application/json' } = answer
  const text = Buffer.from(answer.text)
  const headers: Record<string, string | number> = { ...answer.headers }
  if (binary.length === 0) {
    headers['content-type'] = contentType
  } else {
    headers['content-type'] = 'application/octet-stream'
    headers['inference-header-content-length'] = text.length
  }
  let parts: readonly Uint8Array[] = [text, ...binary]
  const encoding = accepted === undefined ? undefined : chooseEncoding(accepted)
  if (encoding !== undefined && sizeOf(parts) >= SMALLEST_COMPRESSED) {
    const body = Buffer.concat(parts)
    parts = [encoding === 'gzip' ? gzipSync(body) : deflateSync(body)]
    headers['content-encoding'] = encoding
  }
  headers['content-length'] = sizeOf(parts)
  response.writeHead(status, headers)
  return write(response, parts)
}

function write(response: ServerResponse, parts: readonly Uint8Array[]): Promise<void> {
  return new Promise((resolve) => {
    // Follows the last byte, and the end of a connection before it.
    response.once('close', resolve)
    response.cork()
    for (const part of parts) response.write(part)
    response.end()
  })
}

const sizeOf = (parts: readonly Uint8Array[]): number => parts.reduce((sum, { length }) => sum + length, 0)

/** The encoding that a client prefers, without its weights: gzip before deflate. */
function chooseEncoding(accepted: string): 'gzip' | 'deflate' | undefined {
  const names = new Set<string>()
  for (const one of accepted.toLowerCase().split(',')) {
    const [name, ...parameters] = one.split(';').map((part) => part.trim())
    if (!parameters.some((part) => /^q=0(\.0*)?$/.test(part))) names.add(name!)
  }
  return names.has('gzip') ? 'gzip' : names.has('deflate') ? 'deflate' : undefined
}
