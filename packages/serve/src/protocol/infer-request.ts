import type { ParameterValue } from '../model/run-context.ts'
import type { SequencePlace } from './sequence-place.ts'
import type { RegionRange } from '../shared-memory/region-place.ts'

/** A request for one inference, as both transports pass it on. The contents are not checked against a model yet. */
export interface InferRequest {
  readonly id: string | undefined
  /** The parameters that the protocol does not reserve. */
  readonly parameters: Readonly<Record<string, ParameterValue>>
  /** The place in a sequence, or undefined. */
  readonly sequence: SequencePlace | undefined
  /** 1 is the highest, and 0 is that of the model. */
  readonly priority: number
  /** The longest time in the queue in microseconds, or 0 for that of the model. */
  readonly timeout: number
  readonly inputs: readonly InferInput[]
  /** The outputs to return, or undefined for all of them. */
  readonly outputs: readonly RequestedOutput[] | undefined
  /** Whether outputs are binary if they do not say it themselves. */
  readonly isBinary: boolean
  /** Whether the end of a stream is an answer without outputs. */
  readonly wantsEmptyFinal: boolean
}

/** An input of a request, whose elements are in the JSON, behind it, or in the client's shared memory. */
export interface InferInput {
  readonly name: string
  readonly datatype: string
  readonly shape: readonly number[]
  readonly source: { readonly data: unknown } | { readonly byteSize: number } | RegionRange
}

/** An output that a client asks for. */
export interface RequestedOutput {
  readonly name: string
  /** Undefined if the request decides. */
  readonly isBinary: boolean | undefined
  /** The place in the client's shared memory to which it is written. */
  readonly range: RegionRange | undefined
}
