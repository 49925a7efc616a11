import { UnsupportedError } from '@tenon/core'
import type { InferResponse } from '../protocol/infer-response.ts'
import type { Inference } from './inference.ts'
import type { InferenceCount } from './inference-count.ts'

/** Runs an inference whose answers are a stream, and counts it. A consumer that returns early has lost its client. */
export async function* streamInference<Encoded>(
  inference: Inference,
  count: InferenceCount,
  encode: (response: InferResponse) => Encoded,
): AsyncGenerator<Encoded, void, undefined> {
  let isCounted = false
  let hasBegun = false
  const encodeCounted = (response: InferResponse): Encoded => {
    if (!hasBegun && response.model.stream !== undefined) count.begin()
    hasBegun = true
    return encode(response)
  }
  try {
    yield* inference.stream(encodeCounted)
    isCounted = true
    count.succeed()
  } catch (error) {
    isCounted = true
    count.fail(error)
    throw error
  } finally {
    if (!isCounted) count.fail(new Error('the client is gone'))
  }
}

/** The error of a request with one answer for a model with streams. The texts begin with those of Triton. */
export function streamRefusal(transport: 'HTTP' | 'gRPC'): UnsupportedError {
  const [text, hint] = REFUSALS[transport]
  return new UnsupportedError(`${text} doesn't support models with decoupled transaction policy`, { hint })
}

const REFUSALS = {
  HTTP: ['HTTP end point', 'Use generate_stream, or stream() of the client.'],
  gRPC: ['ModelInfer RPC', 'Use ModelStreamInfer.'],
} as const
