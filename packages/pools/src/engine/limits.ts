/** What a driver lets one client use. What goes beyond is refused with `RESOURCE_EXHAUSTED_TRANSIENT`. */
export interface DriverLimits {
  /** Pools registered at once. */
  readonly pools: number
  /** Bytes of them, as declared. */
  readonly poolBytes: number
  /** Prepared models. */
  readonly models: number
  /** Bytes of an encoded model, with its copied values. */
  readonly modelBytes: number
  /** Bytes of intermediate results of a prepared model, of copies of its constants, and of copies of a request's values. */
  readonly workingBytes: number
  /** Device buffers. */
  readonly buffers: number
  /** Bytes of them. */
  readonly bufferBytes: number
  /** Requests that wait for their answer. */
  readonly requests: number
  /** Fences of others that fenced executions wait for. */
  readonly fences: number
}

export const DEFAULT_LIMITS: DriverLimits = {
  pools: 256,
  poolBytes: 16 * 2 ** 30,
  models: 256,
  modelBytes: 64 * 2 ** 20,
  workingBytes: 2 * 2 ** 30,
  buffers: 1024,
  bufferBytes: 2 ** 30,
  requests: 64,
  fences: 64,
}
