import type { TraceContext } from '../tracing/trace-context.ts'

/** A parameter of a request. Integers beyond 2^53 are bigints. */
export type ParameterValue = boolean | number | bigint | string

/** What a function that answers requests knows besides its inputs. */
export interface RunContext {
  /** The parameters of the request that the protocol does not reserve. */
  readonly parameters: Readonly<Record<string, ParameterValue>>
  /** Aborted at the deadline, and when the client is gone. */
  readonly signal: AbortSignal
  /** The traces of the requests of this run that have one, to be passed on to other servers: `client.infer(..., traces[0])`. */
  readonly traces: readonly TraceContext[]
}

/** The context of a run in the server. */
export interface ModelContext extends RunContext {
  /** The key of the worker that must run a kernel; undefined for any worker. */
  readonly affinity?: string | undefined
}
