import type { IncomingMessage, ServerResponse } from 'node:http'
import { Cancellation } from '../service/cancellation.ts'
import { onDisconnect } from './on-disconnect.ts'
import { RequestRecord, type RequestSource } from '../log/request-record.ts'
import type { PathParts } from './router.ts'

/** One request and its answer, and what ends with them. */
export class Exchange implements RequestSource {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The parts of the path that its route names. Empty until the route is found. */
  parts: PathParts = {}
  /** Read at once, because the socket of a client that has left has no address. */
  readonly address: string | undefined
  readonly record: RequestRecord
  /** Whether all of the body was read, which is known before the stream says that it has ended. */
  hasRead = false
  /** Whether the client sends the body only after `100 Continue`, which it did not get. */
  awaitsContinue = false
  /** Cancelled when the client is gone. */
  readonly cancellation: Cancellation = new Cancellation()
  readonly #actions: (() => Promise<void> | undefined | void)[] = []
  readonly #stopWatching: (() => void) | undefined
  #isAnswered = false
  #isClosed = false

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.request = request
    this.response = response
    this.address = request.socket.remoteAddress
    this.record = new RequestRecord(this)
    // Follows the last byte of the answer, and the end of a connection before it.
    response.on('close', () => this.#close())
    // On a connection that ends, Node.js does not close responses that wait for others.
    if (response.socket === null) this.#stopWatching = onDisconnect(request.socket, () => this.#close())
  }

  get method(): string {
    return this.request.method ?? ''
  }

  /** The path without its query, which can have secrets. */
  get path(): string {
    const { url = '' } = this.request
    // A URL can have a name and a password before its host.
    if (!url.startsWith('/') || url.startsWith('//')) return ''
    const query = url.indexOf('?')
    return query === -1 ? url : url.slice(0, query)
  }

  header(name: string): string | undefined {
    return this.request.headers[name]?.toString()
  }

  #close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#stopWatching?.()
    if (!this.response.writableFinished) this.cancellation.cancel(new Error('the client is gone'))
    if (this.#isAnswered) this.#end()
  }

  /** Adds an action that runs once the answer was sent, or the client has disconnected. The last one added runs first. */
  onEnd(action: () => Promise<void> | undefined | void): void {
    this.#actions.push(action)
  }

  /** Releases the memory of the answer once the connection has sent it. Called once. */
  leave(): void {
    this.#isAnswered = true
    if (this.#isClosed) this.#end()
  }

  #end(): void {
    for (let action = this.#actions.pop(); action !== undefined; action = this.#actions.pop()) {
      const ending = action()
      if (ending === undefined) continue
      void ending.then(() => this.#end())
      return
    }
  }
}
