import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { deflateSync, gzipSync } from 'node:zlib'
import { longestSend } from '../service/longest-send.ts'
import type { Exchange } from './exchange.ts'

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

const NO_BYTES: readonly Uint8Array[] = []

/** The most bytes of a body that is copied, so that it is sent with the head in one piece. Node.js copies 16 KiB of text without taking memory for them. */
const MOST_COPIED = 15_360

const copied = Buffer.allocUnsafeSlow(MOST_COPIED)

/**
 * Writes an answer. Its bytes must stay until the response has closed.
 *
 * @param timeout the longest time without a byte being read, in milliseconds.
 */
export function sendAnswer(
  { request, response, record }: Exchange,
  { status, text, contentType = 'application/json', binary = NO_BYTES, headers: given }: Answer,
  timeout: number,
): void {
  const accepted = request.headers['accept-encoding']
  const textSize = Buffer.byteLength(text)
  const headers: OutgoingHttpHeaders = given === undefined ? {} : { ...given }
  headers['content-type'] = binary.length === 0 ? contentType : 'application/octet-stream'
  if (binary.length > 0) headers['inference-header-content-length'] = textSize
  let size = textSize
  for (const { length } of binary) size += length
  record.status = status
  record.bytesOut = size
  const encoding = accepted === undefined || size < SMALLEST_COMPRESSED ? undefined : chooseEncoding(accepted)
  if (encoding !== undefined) {
    headers['content-encoding'] = encoding
    const whole = join(text, textSize, binary, Buffer.allocUnsafe(size))
    const body = encoding === 'gzip' ? gzipSync(whole) : deflateSync(whole)
    headers['content-length'] = body.length
    record.bytesOut = body.length
    response.writeHead(status, headers)
    response.end(body)
  } else {
    headers['content-length'] = size
    response.writeHead(status, headers)
    if (binary.length === 0) {
      response.end(text)
    } else if (size <= MOST_COPIED && !('encrypted' in request.socket)) {
      join(text, textSize, binary, copied)
      // Node.js sends a text together with the head, and bytes in a vector behind it, which takes more time than to copy them. With encryption, all are copied.
      response.end(copied.toString('latin1', 0, size), 'latin1')
    } else {
      response.cork()
      response.write(text)
      for (const part of binary) response.write(part)
      response.end()
    }
  }
  // With encryption, the system takes what is written a little later. Most answers are sent then, and need no timers.
  if (response.writableLength > 0) setImmediate(limitSending, response, size, timeout)
}

/** Ends the connection of a client that does not read its answer. */
function limitSending(response: ServerResponse, size: number, timeout: number): void {
  if (response.writableLength === 0 || response.destroyed) return
  const destroy = (): void => void response.destroy()
  response.setTimeout(timeout, destroy)
  const timer = setTimeout(destroy, longestSend(timeout, size))
  response.once('close', () => clearTimeout(timer))
}

/** Copies the text and the bytes behind it. @returns `whole` */
function join(text: string, textSize: number, binary: readonly Uint8Array[], whole: Buffer): Buffer {
  whole.write(text)
  let at = textSize
  for (const part of binary) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** The encoding that a client prefers, without its weights: gzip before deflate. */
function chooseEncoding(accepted: string): 'gzip' | 'deflate' | undefined {
  const names = new Set<string>()
  for (const one of accepted.toLowerCase().split(',')) {
    const [name, ...parameters] = one.split(';').map((part) => part.trim())
    if (!parameters.some((part) => /^q=0(\.0*)?$/.test(part))) names.add(name!)
  }
  return names.has('gzip') ? 'gzip' : names.has('deflate') ? 'deflate' : undefined
}
