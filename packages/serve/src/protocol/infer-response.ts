import { InvalidRequestError } from '../errors.ts'
import type { Model } from '../model/model.ts'
import type { ModelTensor } from '../model/model-tensor.ts'
import type { TensorSpec } from '../model/tensor-spec.ts'
import type { InferRequest } from './infer-request.ts'
import type { RegionRange } from '../shared-memory/region-place.ts'

/** An output that a request asked for, or that it gets because it asked for none in particular. */
export interface ChosenOutput {
  readonly spec: TensorSpec
  /** The place among the outputs of the model. */
  readonly index: number
  readonly isBinary: boolean
  /** The place in the client's shared memory to which it is written. */
  readonly range: RegionRange | undefined
}

/** The outputs of one request in the order of the answer. @throws {InvalidRequestError} for a name that the model does not have. */
export function chooseOutputs(model: Model, request: InferRequest): readonly ChosenOutput[] {
  const { outputs, isBinary } = request
  if (outputs === undefined) return model.outputs.map((spec, index) => ({ spec, index, isBinary, range: undefined }))
  return outputs.map((asked) => {
    const index = model.outputs.findIndex(({ name }) => name === asked.name)
    if (index !== -1) {
      return { spec: model.outputs[index]!, index, isBinary: asked.isBinary ?? isBinary, range: asked.range }
    }
    const names = model.outputs.map(({ name }) => name).join(', ')
    throw new InvalidRequestError(`the model ${model.name} has no output ${JSON.stringify(asked.name.slice(0, 60))}`, {
      hint: `Its outputs are ${names}.`,
    })
  })
}

/** One output of an answer. */
export interface AnsweredOutput {
  readonly chosen: ChosenOutput
  readonly tensor: ModelTensor
  /** The number of bytes that were written to the client's shared memory, or undefined for an output of the answer. */
  readonly written: number | undefined
}

/** The parameters of an output in shared memory. */
export const parametersOfRange = (
  { region, offset }: RegionRange,
  written: number,
): Record<string, string | number> => ({
  shared_memory_region: region,
  ...(offset === 0 ? {} : { shared_memory_offset: offset }),
  shared_memory_byte_size: written,
})

/** An answer to one request, before a transport encodes it. */
export interface InferResponse {
  readonly model: Model
  readonly id: string | undefined
  /** The outputs that the plan of the request has. */
  readonly chosen: readonly ChosenOutput[]
  readonly outputs: readonly AnsweredOutput[]
}
