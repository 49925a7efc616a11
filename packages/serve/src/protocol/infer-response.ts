import type { Tensor } from '@tenon/core'
import { InvalidRequestError } from '../errors.ts'
import type { Model } from '../model/model.ts'
import type { TensorSpec } from '../model/tensor-spec.ts'
import type { InferRequest } from './infer-request.ts'
import { bytesForBody, elementsForJson } from './tensor-json.ts'

/** An output that a request asked for, or that it gets because it asked for none in particular. */
export interface ChosenOutput {
  readonly spec: TensorSpec
  /** The place among the outputs of the model. */
  readonly index: number
  readonly isBinary: boolean
}

/** The outputs of one request in the order of the answer. @throws {InvalidRequestError} for a name that the model does not have. */
export function chooseOutputs(model: Model, request: InferRequest): readonly ChosenOutput[] {
  const { outputs, isBinary } = request
  if (outputs === undefined) return model.outputs.map((spec, index) => ({ spec, index, isBinary }))
  return outputs.map((asked) => {
    const index = model.outputs.findIndex(({ name }) => name === asked.name)
    if (index !== -1) return { spec: model.outputs[index]!, index, isBinary: asked.isBinary ?? isBinary }
    const names = model.outputs.map(({ name }) => name).join(', ')
    throw new InvalidRequestError(`the model ${model.name} has no output ${JSON.stringify(asked.name.slice(0, 60))}`, {
      hint: `Its outputs are ${names}.`,
    })
  })
}

/** One output of an answer. */
export interface AnsweredOutput extends ChosenOutput {
  readonly tensor: Tensor
}

/** An answer to one request, before a transport encodes it. */
export interface InferResponse {
  readonly model: Model
  readonly id: string | undefined
  readonly outputs: readonly AnsweredOutput[]
}

/** An answer of HTTP: JSON, and the bytes of the binary outputs behind it. */
export interface JsonResponse {
  readonly text: string
  readonly binary: readonly Uint8Array[]
}

/** Encodes an answer for HTTP. @throws {InvalidRequestError} for elements that JSON does not have. */
export function encodeAsJson({ model, id, outputs }: InferResponse): JsonResponse {
  const binary: Uint8Array[] = []
  const described = outputs.map(({ spec: { name, datatype }, isBinary, tensor }) => {
    const { shape } = tensor
    if (!isBinary) return { name, datatype, shape, data: elementsForJson(name, tensor) }
    const bytes = bytesForBody(tensor)
    binary.push(bytes)
    return { name, datatype, shape, parameters: { binary_data_size: bytes.length } }
  })
  const named = id === undefined ? {} : { id }
  const { name, version } = model
  return { text: JSON.stringify({ model_name: name, model_version: version, ...named, outputs: described }), binary }
}
