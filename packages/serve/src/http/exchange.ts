import type { IncomingMessage, ServerResponse } from 'node:http'
import { Cancellation } from '../service/cancellation.ts'
import { onDisconnect } from './on-disconnect.ts'
import { RequestRecord, type RequestSource } from '../log/request-record.ts'
import type { PathParts } from './router.ts'

/** One request and its answer, and what ends with them. */
export class Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The parts of the path that its route names. Empty until the route is found. */
  parts: PathParts = {}
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
    this.record = new RequestRecord(new HttpSource(request))
    // Follows the last byte of the answer, and the end of a connection before it.
    response.on('close', () => this.#close())
    // On a connection that ends, Node.js does not close responses that wait for others.
    if (response.socket === null) this.#stopWatching = onDisconnect(request.socket, () => this.#close())
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

/** The facts about a request that Node.js keeps. */
class HttpSource implements RequestSource {
  /** Read at once, because the socket of a client that has left has no address. */
  readonly address: string | undefined
  readonly #request: IncomingMessage

  constructor(request: IncomingMessage) {
    this.#request = request
    this.address = request.socket.remoteAddress
  }

  get method(): string {
    return this.#request.method ?? ''
  }

  get path(): string {
    return pathOf(this.#request)
  }

  header(name: string): string | undefined {
    return this.#request.headers[name]?.toString()
  }
}

/** The path of a request without its query, which can have secrets. */
export function pathOf({ url = '' }: IncomingMessage): string {
  // A URL can have a name and a password before its host.
  if (!url.startsWith('/') || url.startsWith('//')) return ''
  const query = url.indexOf('?')
  return query === -1 ? url : url.slice(0, query)
}
