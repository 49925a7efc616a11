import type { SequenceId } from '../protocol/sequence-place.ts'
import type { TraceContext } from '../tracing/trace-context.ts'

/** A parameter of a request. Integers beyond 2^53 are bigints. */
export type ParameterValue = boolean | number | bigint | string

/** The sequence of a request, as the function of a model gets it. */
export interface RunSequence<State> {
  /** The number or the name that the client chose. Integers beyond 2^53 are bigints. */
  readonly id: SequenceId
  readonly isStart: boolean
  readonly isEnd: boolean
  /** The state that the option `sequence.state` has made for this sequence. */
  readonly state: State
}

/** The second argument of a function that answers requests, beside its inputs. */
export interface RunContext<State = never> {
  /** The parameters of the request that the protocol does not reserve. */
  readonly parameters: Readonly<Record<string, ParameterValue>>
  /** Aborted at the deadline, and when the client is gone. */
  readonly signal: AbortSignal
  /** The traces of the requests of this run that have one, to be passed on to other servers: `client.infer(..., traces[0])`. */
  readonly traces: readonly TraceContext[]
  /** The sequence of the request; undefined for a model without the option `sequence`. */
  readonly sequence: [State] extends [never] ? undefined : RunSequence<State>
}

/** The context of a run in the server. */
export interface ModelContext extends Omit<RunContext, 'sequence'> {
  readonly sequence?: RunSequence<unknown> | undefined
  /** The key of the worker that must run a kernel; undefined for any worker. */
  readonly affinity?: string | undefined
}
