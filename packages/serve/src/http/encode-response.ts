import { bytesForBody, KeptHeads, parametersOfRange, type InferResponse } from '../protocol/infer-response.ts'
import { elementsForJson } from '../protocol/tensor-json.ts'

/** An answer of HTTP: JSON, and the bytes of the binary outputs behind it. */
export interface JsonResponse {
  readonly text: string
  readonly binary: readonly Uint8Array[]
}

const keptTexts = new KeptHeads<string>()

/** Encodes an answer for HTTP. @throws {InvalidRequestError} for elements that JSON does not have. */
export function encodeAsJson(response: InferResponse): JsonResponse {
  const binary: Uint8Array[] = []
  for (const { chosen, tensor, written } of response.outputs) {
    if (chosen.isBinary && written === undefined) binary.push(bytesForBody(tensor))
  }
  return { text: keptTexts.find(response) ?? keptTexts.add(response, textOf(response, binary)), binary }
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
