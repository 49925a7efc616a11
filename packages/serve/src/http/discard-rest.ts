import type { IncomingMessage } from 'node:http'

/** Whether bytes of a body have not arrived, or were not read. */
export const hasRest = ({ headers, complete }: IncomingMessage): boolean =>
  !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)

/** The most bytes that are read after an answer. Then the connection ends. */
const MOST_DISCARDED = 64 * 2 ** 20

/** The same for a client that was refused. */
const MOST_OF_REFUSED = 2 ** 20

/**
 * Reads what is left of the body of an answered request, and forgets it. If the connection ended instead, a client that sends all of a
 * request before it reads would get an error of its connection, and not the answer.
 */
export function discardRest(request: IncomingMessage, isRefused: boolean): void {
  const most = isRefused ? MOST_OF_REFUSED : MOST_DISCARDED
  let size = 0
  request.unpipe()
  // A reader that is still there would keep the stream from flowing.
  request.removeAllListeners('readable')
  request.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > most) request.destroy()
  })
  request.resume()
}
