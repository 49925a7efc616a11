import type { OutputShape, Pool, PoolSlice, PoolFacts } from '@tenon/pools'
import type { FencedOutcome, FencedTerms } from '../engine/fenced-run.ts'
import type { Model } from '../model/model.ts'
import type { Request } from '../request/request.ts'
import type { AllocateDescription } from './allocate.ts'

/** The urgency of a request among those of one client that wait. */
export type Priority = 'low' | 'medium' | 'high'

/** The options of every request. */
export interface RequestOptions {
  /**
   * The time for the answer, in milliseconds: afterwards the request fails with `MISSED_DEADLINE_TRANSIENT`. A deadline of 0 or
   * less has passed already (`MISSED_DEADLINE_PERSISTENT`). Without it the request may take any time.
   */
  readonly deadline?: number
  readonly priority?: Priority
}

/** The options of requests whose answer is awaited. */
export interface AsyncRequestOptions extends RequestOptions {
  /** Cancels the request: it does not run if it has not begun, and its promise rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

/** The outcome of a successful execution. */
export interface ExecutionResult {
  /** The shape of each output. */
  readonly outputs: readonly OutputShape[]
  /** The time that the driver took, in nanoseconds. */
  readonly driverTime: number
}

/** The fences that an execution waits for, for a backend. The caller keeps the descriptors. */
export type BackendFences = Omit<FencedTerms, 'signal'>

export interface BackendFenced {
  /** A fence, which becomes the caller's. */
  readonly fence: number
  /** Rejects only with `DEAD_OBJECT`. */
  readonly outcome: Promise<FencedOutcome>
}

export interface BackendBuffer {
  copyFrom(source: PoolSlice): Promise<void>
  copyTo(target: PoolSlice<'writable'>): Promise<void>
  /** Returns the dimensions of its value; undefined if it holds none. */
  shape(): Promise<readonly number[] | undefined>
  release(): void
}

/** The data by which another thread of this process names models and buffers. */
export interface BackendShare {
  /** A socket to the driver, which the other thread takes over. */
  readonly socket: number
  readonly models: readonly number[]
  readonly buffers: readonly number[]
}

export type BackendRequest = Request<Pool | BackendPool>

/** An execution that has begun. The call that begins it holds its pools. */
export interface BackendExecution {
  readonly request: BackendRequest
  /**
   * Lets go of the pools. Called once by the backend, when the driver no longer uses them: it has answered, or is dead. That can be
   * later than the caller stops waiting.
   */
  readonly release: () => void
}

export interface BackendModel {
  run(execution: BackendExecution, options: RequestOptions): ExecutionResult
  runAsync(execution: BackendExecution, options: AsyncRequestOptions): Promise<ExecutionResult>
  runFenced(execution: BackendExecution, fences: BackendFences): Promise<BackendFenced>
  /** Keeps the driver's mapping of a pool until the returned function is called. */
  pin(pool: Pool): () => void
  release(): void
}

export interface BackendPool extends PoolFacts {
  readonly kind: 'token'
  readonly buffer: BackendBuffer
}

/** The home of a driver: this thread, or the other end of a channel. Options were checked by the caller. */
export interface Backend {
  prepare(model: Model<Pool>, options: AsyncRequestOptions): Promise<BackendModel>
  supportedOperations(model: Model<Pool>, options: AsyncRequestOptions): Promise<boolean[]>
  allocate(
    models: readonly BackendModel[],
    description: AllocateDescription,
    options: AsyncRequestOptions,
  ): Promise<BackendBuffer>
  /** Opens a channel for another thread of this process. @throws {PoolsError} for a driver in this thread, and on a system without sockets */
  share(models: readonly BackendModel[], buffers: readonly BackendBuffer[]): Promise<BackendShare>
  close(): void | Promise<void>
}
