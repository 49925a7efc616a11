import { dtypeInfo, type DType } from '@tenon/core'
import { InvalidRequestError } from '../errors.ts'
import type { InferParameter, InferTensorContents, ModelInferRequest } from '../generated/open_inference_pb.js'
import type { InferRequest } from '../protocol/infer-request.ts'
import { readInferRequest } from '../protocol/read-infer-request.ts'

/** A request of gRPC, and the bytes of its binary inputs. */
export interface GrpcRequest {
  readonly request: InferRequest
  /** In the order of the binary inputs of the request. */
  readonly raw: readonly Uint8Array[]
}

type Parameters = Readonly<Record<string, InferParameter>>

/**
 * Reads a message. Inputs are either all in `raw_input_contents` or all in `contents`, and outputs are bytes.
 *
 * @param dtypeOf the element type of an input of the model, or undefined. @throws {InvalidRequestError} as for HTTP
 */
export function readGrpcRequest(
  message: ModelInferRequest,
  dtypeOf: (input: string) => DType | undefined,
): GrpcRequest {
  const { id, inputs, outputs, rawInputContents: raw } = message
  const isRaw = raw.length > 0
  if (isRaw && raw.length !== inputs.length) {
    throw new InvalidRequestError(
      `raw_input_contents must have one element for each input, got ${raw.length} for ${inputs.length}`,
    )
  }
  const request = readInferRequest({
    ...(id === '' ? {} : { id }),
    parameters: { ...readParameters(message.parameters), binary_data_output: true },
    inputs: inputs.map(({ name, datatype, shape, parameters, contents }, i) => {
      const described = { name, datatype, shape: shape.map(toNumber) }
      const given = readParameters(parameters)
      if (!isRaw) return { ...described, parameters: given, data: readContents(name, contents, dtypeOf(name)) }
      if (contents !== undefined)
        throw new InvalidRequestError(`the input ${name} must not be in contents and in raw_input_contents`)
      return { ...described, parameters: { ...given, binary_data_size: raw[i]!.length } }
    }),
    outputs: outputs.map(({ name, parameters }) => ({ name, parameters: readParameters(parameters) })),
  })
  return { request, raw: isRaw ? raw : [] }
}

/** A safe integer as a number. Others stay bigints, and are refused where a size is expected. */
const toNumber = (value: bigint): number | bigint => {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

function readParameters(parameters: Parameters): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(parameters).map(
      ([
        name,
        {
          parameterChoice: { value },
        },
      ]) => [name, typeof value === 'bigint' ? toNumber(value) : value],
    ),
  )
}

function readContents(
  name: string,
  contents: InferTensorContents | undefined,
  dtype: DType | undefined,
): readonly unknown[] {
  if (contents === undefined || dtype === undefined) return []
  const { kind, bits } = dtypeInfo(dtype)
  switch (kind) {
    case 'bool':
      return contents.boolContents
    case 'int':
      return bits === 64 ? contents.int64Contents : contents.intContents
    case 'uint':
      return bits === 64 ? contents.uint64Contents : contents.uintContents
    default:
      if (bits === 16)
        throw new InvalidRequestError(`the input ${name} must be in raw_input_contents, because it has 16 bits`)
      return bits === 64 ? contents.fp64Contents : contents.fp32Contents
  }
}
