import type { OutputShape } from '../error-status.ts'
import type { FencedOutcome } from '../engine/fenced-run.ts'
import type { Model } from '../model/model.ts'
import type { Pool } from '../pool/pool.ts'
import type { PoolSlice } from '../pool/pool-slice.ts'
import type { Request } from '../request/request.ts'
import type { AllocateDescription } from './allocate.ts'

/** How urgent a request is, among those of one client that wait. */
export type Priority = 'low' | 'medium' | 'high'

/** What every request may say. */
export interface RequestOptions {
  /**
   * How long the answer may take, in milliseconds; then the request fails with `MISSED_DEADLINE_TRANSIENT`. 0 or less has
   * passed already (`MISSED_DEADLINE_PERSISTENT`). Any time without it.
   */
  readonly timeout?: number
  readonly priority?: Priority
}

/** Options of requests whose answer is awaited. */
export interface AsyncRequestOptions extends RequestOptions {
  /** Gives the request up: it is taken back if it hasn't begun, and its promise rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

/** How an execution went. */
export interface ExecutionResult {
  /** One for each output. */
  readonly outputs: readonly OutputShape[]
  /** How long the driver took, in nanoseconds. */
  readonly driverTime: number
}

/** What a fenced execution waits for, as a backend knows it. The descriptors stay the caller's. */
export interface BackendFences {
  readonly waitFor: readonly number[]
  readonly timeout: number | undefined
  readonly timeoutAfterFences: number | undefined
}

/** A launched fenced execution, as a backend knows it. */
export interface BackendFenced {
  /** A fence, which becomes the caller's. */
  readonly fence: number
  /** Rejects with `DEAD_OBJECT` alone. */
  readonly outcome: Promise<FencedOutcome>
}

/** Memory of a driver, as a backend knows it. */
export interface BackendBuffer {
  copyFrom(source: PoolSlice): Promise<void>
  copyTo(target: PoolSlice<'writable'>): Promise<void>
  release(): void
}

/** A prepared model, as a backend knows it. Pools of requests are pools or what the backend's `allocate` made. */
export interface BackendModel {
  executeSync(request: Request<Pool | BackendPool>, options: RequestOptions): ExecutionResult
  execute(request: Request<Pool | BackendPool>, options: AsyncRequestOptions): Promise<ExecutionResult>
  executeFenced(request: Request<Pool | BackendPool>, fences: BackendFences): Promise<BackendFenced>
  /** Keeps a pool where the driver has it, until what is returned is called. */
  pin(pool: Pool): () => void
  release(): void
}

/** A device buffer among the pools of a request. */
export interface BackendPool {
  readonly kind: 'token'
  readonly byteSize: number
  readonly rights: 'writable'
  readonly identity: string
  readonly identityOffset: number
  readonly buffer: BackendBuffer
}

/** Where a driver lives: what differs between the homes. */
export interface Backend {
  prepare(model: Model<Pool>, options: AsyncRequestOptions): Promise<BackendModel>
  supportedOperations(model: Model<Pool>, options: AsyncRequestOptions): Promise<readonly boolean[]>
  allocate(
    models: readonly (BackendModel | undefined)[],
    description: AllocateDescription,
    options: AsyncRequestOptions,
  ): Promise<BackendBuffer>
  close(): void | Promise<void>
}
