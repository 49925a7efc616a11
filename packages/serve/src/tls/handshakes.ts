import type { Socket } from 'node:net'
import type { Server, TLSSocket } from 'node:tls'
import type { Log } from '../log/log.ts'

/** Connections that ended before their handshake did, as those of port scanners and health checks do. */
const ENDED: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE'])

/** The connections of a server whose handshakes have not ended. Node.js counts them as connections that a closing server waits for. */
export class Handshakes {
  /** By the address and the port of the client, because a connection does not name the one below it. */
  readonly #sockets = new Map<string, Socket>()

  constructor(server: Server, log: Log) {
    server.on('connection', (socket: Socket) => {
      const key = keyOf(socket)
      this.#sockets.set(key, socket)
      socket.once('close', () => this.#sockets.delete(key))
    })
    server.on('secureConnection', (socket) => this.#sockets.delete(keyOf(socket)))
    server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
      const { code = '', message } = error
      // Node.js has the code of OpenSSL here, and has ended the connection already, so that its address is not known any more.
      const { authorizationError: refused, remoteAddress: address } = socket
      if (refused) log.writeLimited('the certificate of a client was refused', { reason: refused })
      else if (!ENDED.has(code)) log.writeLimited('a TLS handshake failed', { reason: code || message, address })
      socket.destroy()
    })
  }

  /** Ends them all. */
  end(): void {
    for (const socket of this.#sockets.values()) socket.destroy()
  }
}

const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`
