import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The time in milliseconds in which a client must end a connection that the server has ended. */
const LINGER = 1000

/** The connections that the server has ended. What their clients still send is read as HTTP, and is an error each time. */
const ended = new WeakSet<Socket>()

/**
 * Answers a request that is not HTTP, or that came too slowly, and ends its connection.
 *
 * @param timeout the longest time without a byte being read, in milliseconds.
 */
export function answerBroken(error: NodeJS.ErrnoException, socket: Socket, timeout: number): void {
  if (ended.has(socket) && error.code?.startsWith('HPE_') === true) return
  if (!socket.writable) {
    socket.destroy()
    return
  }
  ended.add(socket)
  const status = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : error.code === 'HPE_HEADER_OVERFLOW' ? 431 : 400
  const body = JSON.stringify({ error: status === 408 ? 'the request took too long' : 'the request must be HTTP/1.1' })
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
  // The answers before this one may be long.
  socket.setTimeout(timeout, () => socket.destroy())
  endWith(head + body, socket)
}

/** Ends the connection of a request whose body is wrong, and whose answer was begun. @param timeout as for {@link answerBroken} */
export function endAnswered(response: ServerResponse, socket: Socket, timeout: number): void {
  if (ended.has(socket)) return
  ended.add(socket)
  socket.setTimeout(timeout, () => socket.destroy())
  if (response.writableFinished) endWith('', socket)
  else response.once('finish', () => endWith('', socket))
}

/** Sends the last bytes. At once, the bytes that the client still sends would reset the connection, and it would not get the answer. */
function endWith(bytes: string, socket: Socket): void {
  socket.end(bytes, () => setTimeout(() => socket.destroy(), LINGER).unref())
}
