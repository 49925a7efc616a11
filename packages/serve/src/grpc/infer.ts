import { fromBinary, toBinary } from '@bufbuild/protobuf'
import { InvalidRequestError } from '../errors.ts'
import {
  ModelInferRequestSchema,
  ModelInferResponseSchema,
  type ModelInferRequest,
  type ModelInferResponse,
} from '../generated/open_inference_pb.js'
import type { Cancellation } from '../service/cancellation.ts'
import { countInference } from '../service/count-inference.ts'
import { findModel } from '../service/find-model.ts'
import { Inference } from '../service/inference.ts'
import type { ServedModel } from '../service/served-model.ts'
import type { ServerState } from '../service/server-state.ts'
import { inferMessage } from './to-message.ts'
import { readGrpcRequest } from './to-request.ts'

/** Reads a message of a client. @throws {InvalidRequestError} if the bytes are none. */
export function readInferMessage(bytes: Uint8Array): ModelInferRequest {
  try {
    return fromBinary(ModelInferRequestSchema, bytes)
  } catch (error) {
    throw new InvalidRequestError('the message must be a ModelInferRequest', { cause: error })
  }
}

/** Answers one request. @param encode makes the answer while the outputs are in memory. @throws (rejects with) the error to answer. */
export function infer<Encoded>(
  state: ServerState,
  message: ModelInferRequest,
  cancellation: Cancellation,
  encode: (response: ModelInferResponse) => Encoded,
): Promise<Encoded> {
  const { modelName, modelVersion } = message
  const served = findModel(state, modelName, modelVersion === '' ? undefined : modelVersion)
  served.enter()
  return countInference(served, state.metrics, cancellation, async () => {
    let inference: Inference | undefined
    try {
      const dtypeOf = (input: string) => served.model.inputs.find(({ name }) => name === input)?.dtype
      const { request, raw } = readGrpcRequest(message, dtypeOf)
      inference = new Inference(served, request, state.limits.bytes)
      inference.places.forEach((place, i) => place.set(raw[i]!))
      return await inference.run(cancellation, (response) => encode(inferMessage(response)))
    } finally {
      void end(served, inference)
    }
  })
}

/** The answer is encoded, so nothing needs the memory of its tensors. */
async function end(served: ServedModel, inference: Inference | undefined): Promise<void> {
  await inference?.closeAsync()
  served.leave()
}

export const encodeInferMessage = (response: ModelInferResponse): Buffer =>
  Buffer.from(toBinary(ModelInferResponseSchema, response))
