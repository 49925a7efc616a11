import { Tensor, type TensorType } from '@tenon/core'
import {
  parametersOfRange,
  type AnsweredOutput,
  type ChosenOutput,
  type InferResponse,
} from '../protocol/infer-response.ts'
import { bytesForBody, elementsForJson } from '../protocol/tensor-json.ts'

/** An answer of HTTP: JSON, and the bytes of the binary outputs behind it. */
export interface JsonResponse {
  readonly text: string
  readonly binary: readonly Uint8Array[]
}

interface KeptText {
  readonly types: readonly TensorType[]
  readonly text: string
}

/**
 * The JSON of the last answers whose elements are all behind it, by the outputs in the plan of their requests. It is the same as long as the
 * outputs have the same types.
 */
const keptTexts = new WeakMap<readonly ChosenOutput[], KeptText>()

/** Encodes an answer for HTTP. @throws {InvalidRequestError} for elements that JSON does not have. */
export function encodeAsJson(response: InferResponse): JsonResponse {
  const { id, chosen, outputs } = response
  const binary = outputs
    .filter(({ chosen: { isBinary }, written }) => isBinary && written === undefined)
    .map(({ tensor }) => bytesForBody(tensor))
  // The plan of a request with an id is not used again.
  const kept = id === undefined ? keptTexts.get(chosen) : undefined
  if (kept !== undefined && haveTypes(outputs, kept.types)) return { text: kept.text, binary }
  const text = textOf(response, binary)
  const types = outputs.flatMap((output) => constantType(output) ?? [])
  if (id === undefined && types.length === outputs.length) keptTexts.set(chosen, { types, text })
  return { text, binary }
}

/** @param binary the bytes of the binary outputs. */
function textOf({ model, id, outputs }: InferResponse, binary: readonly Uint8Array[]): string {
  let next = 0
  const described = outputs.map(({ chosen: { spec, isBinary, range }, tensor, written }) => {
    const { name, datatype } = spec
    // Put together here, because JSON.stringify() takes several times as long for objects that are made for it.
    const head = `{"name":${JSON.stringify(name)},"datatype":"${datatype}","shape":[${tensor.shape.join(',')}]`
    if (written !== undefined) return `${head},"parameters":${JSON.stringify(parametersOfRange(range!, written))}}`
    if (!isBinary) return `${head},"data":${JSON.stringify(elementsForJson(name, tensor))}}`
    return `${head},"parameters":{"binary_data_size":${binary[next++]!.length}}}`
  })
  const head = `{"model_name":${JSON.stringify(model.name)},"model_version":"${model.version}"`
  const named = id === undefined ? head : `${head},"id":${JSON.stringify(id)}`
  return `${named},"outputs":[${described.join(',')}]}`
}

/** The type that decides what the text says about an output. Undefined if its elements matter, too. */
function constantType({ chosen, tensor, written }: AnsweredOutput): TensorType | undefined {
  return chosen.isBinary && written === undefined && tensor instanceof Tensor ? tensor.type : undefined
}

function haveTypes(outputs: readonly AnsweredOutput[], types: readonly TensorType[]): boolean {
  // String tensors have no type.
  for (let i = 0; i < types.length; i++) if ((outputs[i]!.tensor as Tensor).type !== types[i]) return false
  return true
}
