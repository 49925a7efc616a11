import { ModelUnavailableError } from '../errors.ts'
import type { Access } from '../access/access.ts'
import type { Log } from '../log/log.ts'
import type { ModelControl } from './model-control.ts'
import type { ByteBudget } from './byte-budget.ts'
import type { Tracing } from '../tracing/tracing.ts'
import type { Metrics } from './metrics.ts'
import type { Regions } from '../shared-memory/regions.ts'
import type { ModelRegistry } from './model-registry.ts'
import type { ServedModel } from './served-model.ts'

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
  readonly log: Log
  /** Undefined if everybody who reaches the server may use it. */
  readonly access: Access | undefined
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

/** The model of a request. @throws {ModelUnavailableError} if the server is closing. @throws {ModelNotFoundError} */
export function findModel({ life, registry }: ServerState, name: string, version: string | undefined): ServedModel {
  if (life.isOpen) return registry.next(name, version)
  throw new ModelUnavailableError('the server is closing', { hint: 'Send the request again later.' })
}
