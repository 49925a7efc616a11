import type { ModelControl } from './model-control.ts'
import type { ByteBudget } from './byte-budget.ts'
import type { Tracing } from '../tracing/tracing.ts'
import type { Metrics } from './metrics.ts'
import type { Regions } from '../shared-memory/regions.ts'
import type { ModelRegistry } from './model-registry.ts'
import type { ServedModel } from './served-model.ts'

/** A request that failed. */
export interface FailedRequest {
  /** The verb of HTTP, or `gRPC`. */
  readonly method: string
  /** The path, or the method of gRPC. */
  readonly path: string
  /** The status of the answer: that of HTTP, or the number of gRPC. */
  readonly status: number
  /** The address of the client, if its connection still has one. */
  readonly address: string | undefined
  /** The header `x-request-id`, or the `id` of an inference. */
  readonly id: string | undefined
}

/** Receives each error that a client was told of. */
export type LogError = (error: unknown, request: FailedRequest) => void

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
  /** The memory of all requests. */
  readonly budget: ByteBudget
  readonly control: ModelControl
  readonly metrics: Metrics
  readonly tracing: Tracing
  readonly regions: Regions
  readonly life: ServerLife
  readonly logError: LogError
}

/** Whether a server says that it is ready, and whether it answers. It does both until it closes. */
export class ServerLife {
  readonly #models: ModelRegistry
  #isEnding = false
  #isOpen = true
  readonly #listeners = new Set<() => void>()
  readonly #closeListeners = new Set<() => void>()

  constructor(models: ModelRegistry) {
    this.#models = models
  }

  /** Whether the server wants requests: it does not end, and one of its models can run, if it has any. */
  get isReady(): boolean {
    if (this.#isEnding) return false
    const models = this.#models.all()
    return models.length === 0 || models.some(({ fault }) => fault === undefined)
  }

  isReadyFor({ fault }: ServedModel): boolean {
    return !this.#isEnding && fault === undefined
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** From now on the server is not ready. A second time has no effect. */
  announceEnd(): void {
    if (this.#isEnding) return
    this.#isEnding = true
    for (const listener of this.#listeners) listener()
  }

  /** From now on no request is answered. */
  close(): void {
    this.announceEnd()
    this.#isOpen = false
    for (const listener of this.#closeListeners) listener()
  }

  /** Calls a function when the server is not ready any more. @returns a function that takes it back. */
  onEnd(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Calls a function when no request is answered any more. @returns a function that takes it back. */
  onClose(listener: () => void): () => void {
    this.#closeListeners.add(listener)
    return () => this.#closeListeners.delete(listener)
  }
}
