import type { ServerResponse } from 'node:http'
import { longestSend } from '../service/longest-send.ts'
import type { Answer } from './answer.ts'
import type { Exchange } from './exchange.ts'
import { onDisconnect } from './on-disconnect.ts'

/** A part of a body. */
export type Part = Uint8Array | string

/** An answer whose body comes in parts. Its status is 200. */
export interface StreamAnswer {
  readonly contentType: string
  /** The next part is asked for when the system has taken the one before. */
  readonly parts: AsyncIterable<Part>
  /** Encodes the error of a stream that has begun. */
  encodeFailure(failure: Answer): Part
  /** The text behind the last part. */
  readonly end: string
}

/**
 * Sends an answer whose body comes in parts, as fast as the client reads. A client that takes too long for a part, or ends its side of the connection,
 * has left.
 *
 * @param timeout the longest time without a byte being read, in milliseconds. @param fail describes the error that ends the parts.
 */
export async function sendStream(
  { request, response, cancellation, record }: Exchange,
  { contentType, parts, encodeFailure, end }: StreamAnswer,
  timeout: number,
  fail: (error: unknown) => Answer,
): Promise<void> {
  const { socket } = request
  const leave = (): void => void response.destroy()
  // Nothing else would show that a client is gone while the model makes its next answer.
  if (socket.readableEnded) leave()
  const stay = onDisconnect(socket, leave, 'end')
  record.status = 200
  try {
    // Proxies must not wait for the end of the body.
    response.writeHead(200, { 'content-type': contentType, 'cache-control': 'no-cache', 'x-accel-buffering': 'no' })
    for await (const part of parts) {
      await write(response, part, timeout)
      if (response.destroyed) return
      record.bytesOut += part.length
    }
    response.end(end)
  } catch (error) {
    if (cancellation.isCancelled) return
    response.end(Buffer.concat([bytesOf(encodeFailure(fail(error))), bytesOf(end)]))
  } finally {
    stay()
    if (response.destroyed) record.leave()
  }
  if (response.writableLength > 0) response.setTimeout(timeout, leave)
}

const bytesOf = (part: Part): Uint8Array => (typeof part === 'string' ? Buffer.from(part) : part)

/** Resolves when the system has taken a part, or the client is gone. */
function write(response: ServerResponse, part: Part, timeout: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => response.destroy(), longestSend(timeout, part.length))
    const end = (): void => {
      clearTimeout(timer)
      response.off('close', end)
      resolve()
    }
    if (response.destroyed) {
      end()
      return
    }
    response.once('close', end)
    response.write(part, end)
  })
}
