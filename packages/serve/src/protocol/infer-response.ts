import { Tensor, type TensorType } from '@tenon/core'
import { StringTensor } from 'tenon/tstring'
import { InvalidRequestError } from '../errors.ts'
import type { Model } from '../model/model.ts'
import { elementsOf, type ModelTensor } from '../model/model-tensor.ts'
import type { TensorSpec } from '../model/tensor-spec.ts'
import type { InferRequest } from './infer-request.ts'
import type { RegionRange } from '../shared-memory/region-place.ts'
import { writeStrings } from './string-bytes.ts'

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

/**
 * The bytes of an output in row-major order. They are the memory of the tensor, unless its elements lie apart, or are strings, which have
 * their lengths between them.
 */
export function bytesForBody(tensor: ModelTensor): Uint8Array {
  if (tensor instanceof StringTensor) return writeStrings(elementsOf(tensor))
  const { block, base, type } = tensor.contiguous()
  return block.bytes.subarray(base, base + type.byteSize)
}

interface Kept<Head> {
  readonly types: readonly TensorType[]
  readonly head: Head
}

/**
 * What a transport has encoded of its last answers besides the bytes of their outputs, by the outputs in the plan of their requests. It is the same
 * as long as the outputs have the same types.
 */
export class KeptHeads<Head> {
  readonly #all = new WeakMap<readonly ChosenOutput[], Kept<Head>>()

  /** The head of an earlier answer that is the same for this one. */
  find({ id, chosen, outputs }: InferResponse): Head | undefined {
    // The plan of a request with an id is not used again.
    const kept = id === undefined ? this.#all.get(chosen) : undefined
    return kept !== undefined && haveTypes(outputs, kept.types) ? kept.head : undefined
  }

  /** Keeps a head, unless it depends on more than the types of the outputs. @returns the head */
  add({ id, chosen, outputs }: InferResponse, head: Head): Head {
    const types = outputs.flatMap((output) => constantType(output) ?? [])
    if (id === undefined && types.length === outputs.length) this.#all.set(chosen, { types, head })
    return head
  }
}

/** The type that decides what a head says about an output. Undefined if its elements matter, too. */
function constantType({ chosen, tensor, written }: AnsweredOutput): TensorType | undefined {
  return chosen.isBinary && written === undefined && tensor instanceof Tensor ? tensor.type : undefined
}

function haveTypes(outputs: readonly AnsweredOutput[], types: readonly TensorType[]): boolean {
  // String tensors have no type.
  for (let i = 0; i < types.length; i++) if ((outputs[i]!.tensor as Tensor).type !== types[i]) return false
  return true
}
