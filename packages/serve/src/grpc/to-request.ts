import { dtypeInfo } from '@tenon/core'
import { InvalidRequestError } from '../errors.ts'
import type { TensorSpec } from '../model/tensor-spec.ts'
import type { InferParameter, InferTensorContents, ModelInferRequest } from '../generated/open_inference_pb.js'
import type { InferRequest } from '../protocol/infer-request.ts'
import { readInferRequest } from '../protocol/read-infer-request.ts'

type Parameters = Readonly<Record<string, InferParameter>>

/**
 * Reads a message. Inputs outside of shared memory are either all in `raw_input_contents` or all in `contents`, and outputs are bytes.
 *
 * @param raw the elements of `raw_input_contents`, which the message need not have. @param specs the inputs of the model.
 * @throws {InvalidRequestError} as for HTTP
 */
export function readGrpcRequest(
  message: ModelInferRequest,
  raw: readonly Uint8Array[],
  specs: readonly TensorSpec[],
): InferRequest {
  const { id, inputs, outputs } = message
  const isRaw = raw.length > 0
  const both = isRaw ? inputs.find(({ contents }) => contents !== undefined) : undefined
  if (both !== undefined) {
    // Clients of Triton look for this text.
    const text = 'contents field must not be specified when using raw_input_contents'
    throw new InvalidRequestError(`${text} for '${both.name}' for model '${message.modelName}'`)
  }
  const isShared = ({ parameters }: (typeof inputs)[number]): boolean =>
    parameters['shared_memory_region'] !== undefined
  const count = inputs.filter((input) => !isShared(input)).length
  if (isRaw && raw.length !== count) {
    throw new InvalidRequestError(
      `raw_input_contents must have one element for each input, got ${raw.length} for ${count}`,
    )
  }
  let next = 0
  return readInferRequest({
    ...(id === '' ? {} : { id }),
    parameters: { ...readParameters(message.parameters), binary_data_output: true },
    inputs: inputs.map((input) => {
      const { name, datatype, shape, contents } = input
      const described = { name, datatype, shape: shape.map(toNumber) }
      const parameters = readParameters(input.parameters)
      if (contents !== undefined && isShared(input)) {
        throw new InvalidRequestError(`the input ${name} must be in one place, got contents and shared memory`)
      }
      if (isShared(input)) return { ...described, parameters }
      if (!isRaw) {
        const dtype = specs.find((spec) => spec.name === name)?.dtype
        return { ...described, parameters, data: readContents(name, contents, dtype) }
      }
      return { ...described, parameters: { ...parameters, binary_data_size: raw[next++]!.length } }
    }),
    outputs: outputs.map(({ name, parameters }) => ({ name, parameters: readParameters(parameters) })),
  })
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
      ]) => [
        name,
        typeof value === 'bigint' ? toNumber(name === 'sequence_id' ? BigInt.asUintN(64, value) : value) : value,
      ],
    ),
  )
}

function readContents(
  name: string,
  contents: InferTensorContents | undefined,
  dtype: TensorSpec['dtype'] | undefined,
): readonly unknown[] | Float32Array | Float64Array {
  if (contents === undefined || dtype === undefined) return []
  if (dtype === 'string') return contents.bytesContents
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
      return bits === 64 ? Float64Array.from(contents.fp64Contents) : Float32Array.from(contents.fp32Contents)
  }
}
