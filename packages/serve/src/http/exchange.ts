import type { IncomingMessage, ServerResponse } from 'node:http'
import { Cancellation } from '../service/cancellation.ts'
import { onDisconnect } from './on-disconnect.ts'
import type { PathParts } from './router.ts'

/** One request and its answer, and what ends with them. */
export class Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The parts of the path that its route names. Empty until the route is found. */
  parts: PathParts = {}
  /** The id of an inference, once it is known. */
  id: string | undefined
  /** Whether all of the body was read, which is known before the stream says that it has ended. */
  hasRead = false
  /** Cancelled when the client is gone. */
  readonly cancellation: Cancellation = new Cancellation()
  readonly #actions: (() => Promise<void> | undefined | void)[] = []
  readonly #stopWatching: (() => void) | undefined
  #isAnswered = false
  #isClosed = false

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.request = request
    this.response = response
    this.id = undefined
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
