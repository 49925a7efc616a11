import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { onDisconnect } from './on-disconnect.ts'

/** The time between two looks for a client that has ended its side of the connection, in milliseconds. */
const INTERVAL = 250

/**
 * Ends the connections of clients that are gone. A client may end its side of the connection behind a request, and still gets the answer.
 *
 * @param connected the event of a new connection.
 * @returns the newest response of each connection, to which each response is added before it is written.
 */
export function watchClients(
  server: Server,
  connected: 'connection' | 'secureConnection',
): WeakMap<Socket, ServerResponse> {
  // Node.js ends such connections otherwise. Its types do not have the property.
  Object.assign(server, { httpAllowHalfOpen: true })
  const responses = new WeakMap<Socket, ServerResponse>()
  server.on(connected, (socket: Socket) => {
    socket.once('end', () => {
      const response = responses.get(socket)
      if (response !== undefined && !response.writableFinished) lookFor(response)
    })
  })
  return responses
}

/**
 * Looks for a client that has ended its side. Only its answer to a write shows whether it is gone, so it gets `100 Continue` until its answer
 * is ready. Clients like that of Node.js, which give up because of it, do not end their side.
 */
function lookFor(response: ServerResponse): void {
  const look = (): void => {
    const isFirst = response.socket !== null
    if (isFirst && !response.headersSent && response.req.httpVersion === '1.1') response.writeContinue()
  }
  const timer = setInterval(look, INTERVAL)
  const stop = (): void => {
    clearInterval(timer)
    stopWatching()
  }
  // Node.js 22 does not close a response that waits for another one.
  const stopWatching = onDisconnect(response.req.socket, stop)
  response.once('close', stop)
  look()
}
