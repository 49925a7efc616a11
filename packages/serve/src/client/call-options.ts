import type { ParameterValue } from '../model/run-context.ts'
import type { SequenceId } from '../protocol/sequence-place.ts'

/** The options of one request. */
export interface CallOptions {
  /** Ends the request with its reason. */
  readonly signal?: AbortSignal
  /** Instead of that of the client, in milliseconds. */
  readonly deadline?: number
}

/** The options of `infer()`. */
export interface InferOptions extends CallOptions {
  /** Default: the highest version that the server has. */
  readonly version?: string
  /** An identifier for logs. */
  readonly id?: string
  /** 1 is the highest priority, and 0 that of the model. */
  readonly priority?: number
  /**
   * The sequence of the request, for a model with sequences. Such a request is sent once, because the server may have answered it before a
   * connection broke.
   */
  readonly sequence?: {
    /** A whole number of 64 bits or a text, other than 0 and an empty one. */
    readonly id: SequenceId
    /** Whether it is the first request of the sequence. Default: false. */
    readonly start?: boolean
    /** Whether it is the last one. Default: false. */
    readonly end?: boolean
  }
  /** Parameters that the function of the model reads. */
  readonly parameters?: Readonly<Record<string, ParameterValue>>
  /** The names of the outputs to return. Default: all. */
  readonly outputs?: readonly string[]
  /** The W3C header `traceparent` of the span that the request belongs to. */
  readonly traceparent?: string
  readonly tracestate?: string
}
