import type { ModelControl } from './model-control.ts'
import type { Metrics } from './metrics.ts'
import type { ModelRegistry } from './model-registry.ts'

/** Receives each error that a client was told of. */
export type LogError = (error: unknown, request: { readonly method: string; readonly path: string }) => void

/** What limits one request, in bytes and milliseconds. */
export interface RequestLimits {
  readonly bytes: number
  readonly jsonBytes: number
  readonly timeout: number
}

/** What both transports know of their server. */
export interface ServerState {
  readonly name: string
  readonly version: string
  readonly registry: ModelRegistry
  readonly limits: RequestLimits
  readonly control: ModelControl
  readonly metrics: Metrics
  readonly life: ServerLife
  readonly logError: LogError
}

/** Whether a server says that it is ready, and whether it answers. It does both until it closes. */
export class ServerLife {
  #isReady = true
  #isOpen = true
  readonly #listeners = new Set<() => void>()

  get isReady(): boolean {
    return this.#isReady
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** From now on the server is not ready. */
  announceEnd(): void {
    if (!this.#isReady) return
    this.#isReady = false
    for (const listener of this.#listeners) listener()
  }

  /** From now on no request is answered. */
  close(): void {
    this.announceEnd()
    this.#isOpen = false
  }

  /** Calls a function when the server is not ready any more. @returns a function that takes it back. */
  onEnd(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
