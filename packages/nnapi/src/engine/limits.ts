import { checkOptions, checkSize } from '@tenon/core/internal'
import { PoolsError } from '@tenon/pools'

/** The most that a driver lets one client use. Requests beyond it fail with `RESOURCE_EXHAUSTED_TRANSIENT`. */
export interface DriverLimits {
  /** Pools registered at the same time. */
  readonly pools: number
  /** The declared bytes of these pools. */
  readonly poolBytes: number
  /** Prepared models. */
  readonly models: number
  /** Bytes of an encoded model, with its copied values. */
  readonly modelBytes: number
  /** Bytes of intermediate results of a prepared model, of copies of its constants, and of copies of a request's values. */
  readonly workingBytes: number
  /** Device buffers. */
  readonly buffers: number
  /** Bytes of these device buffers. */
  readonly bufferBytes: number
  /** Requests that wait for their answer. */
  readonly requests: number
  /** Fences that fenced executions wait for. */
  readonly fences: number
  /** The milliseconds that one request may run, whatever its own deadline. Only a driver at a path enforces it. */
  readonly deadline: number
}

const DEFAULT_LIMITS: DriverLimits = {
  pools: 256,
  poolBytes: 16 * 2 ** 30,
  models: 256,
  modelBytes: 64 * 2 ** 20,
  workingBytes: 2 * 2 ** 30,
  buffers: 1024,
  bufferBytes: 2 ** 30,
  requests: 64,
  fences: 64,
  deadline: 60_000,
}

/** Reads each limit once. @throws {ArgumentError | ArgumentRangeError} for other values than whole numbers and Infinity */
export function limitsOf(limits: Partial<DriverLimits> | undefined): DriverLimits {
  const names = Object.keys(DEFAULT_LIMITS) as (keyof DriverLimits)[]
  const given = checkOptions(limits, names, 'limits')
  const entries = names.map((name) => [name, checkLimit(given[name], name)])
  return Object.fromEntries(entries) as unknown as DriverLimits
}

function checkLimit(limit: number | undefined, name: keyof DriverLimits): number {
  if (limit === undefined) return DEFAULT_LIMITS[name]
  if (limit === Infinity) return limit
  const unit = name.endsWith('ytes') ? 'bytes' : name === 'deadline' ? 'milliseconds' : name
  return checkSize(limit, `limits.${name}`, unit)
}

/** The error for a client that has as much as it may have. */
export function exhausted(what: string): PoolsError {
  return new PoolsError('RESOURCE_EXHAUSTED_TRANSIENT', `a client may have at most ${what}`, {
    hint: 'Release what you do not need any more.',
  })
}
