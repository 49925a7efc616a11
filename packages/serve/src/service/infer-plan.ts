import { tensorType, type TensorType } from '@tenon/core'
import { InvalidRequestError, RequestTooLargeError } from '../errors.ts'
import type { Model } from '../model/model.ts'
import type { TensorSpec } from '../model/tensor-spec.ts'
import type { InferInput, InferRequest } from '../protocol/infer-request.ts'
import { chooseOutputs, type ChosenOutput } from '../protocol/infer-response.ts'

/** A request that was checked against its model. It has no memory yet, so equal requests can have one plan. */
export interface InferPlan {
  readonly request: InferRequest
  /** In the order of the model. */
  readonly inputs: readonly PlannedInput[]
  /** In the order of the answer. */
  readonly outputs: readonly ChosenOutput[]
  /** The places among {@link inputs} of those that arrive behind the JSON, in the order of the request. */
  readonly arriving: readonly number[]
  /** The bytes of the inputs that arrive behind the JSON. */
  readonly arrivingBytes: number
  /** The bytes of the inputs that are copied from the shared memory of the client. */
  readonly copiedBytes: number
  /** Whether inputs or outputs are in the shared memory of the client. */
  readonly usesRegions: boolean
}

/** An input of a request for a model. */
export interface PlannedInput {
  readonly input: InferInput
  readonly spec: TensorSpec
  readonly type: TensorType
}

/**
 * Checks a request against its model.
 *
 * @param byteLimit the most bytes of all inputs.
 * @throws {InvalidRequestError} if they contradict. @throws {RequestTooLargeError} if the inputs have more bytes.
 */
export function planInference(model: Model, request: InferRequest, byteLimit: number): InferPlan {
  const inputs = orderInputs(model, request).map((input, i): PlannedInput => {
    const spec = model.inputs[i]!
    return { input, spec, type: typeOf(spec, input) }
  })
  checkSequence(model, request)
  model.check(inputs.map(({ type }) => type))
  const outputs = chooseOutputs(model, request)
  const byteSize = inputs.reduce((sum, { type, input }) => sum + byteSizeOf(type, input.source), 0)
  if (byteSize > byteLimit) {
    throw inputsTooLarge(byteLimit, byteSize)
  }
  const arriving = request.inputs
    .filter(({ source }) => isBehind(source))
    .map(({ name }) => model.inputs.findIndex((spec) => spec.name === name))
  const arrivingBytes = request.inputs.reduce((sum, { source }) => (isBehind(source) ? sum + source.byteSize : sum), 0)
  const copiedBytes = request.inputs.reduce((sum, { source }) => ('region' in source ? sum + source.byteSize : sum), 0)
  const usesRegions =
    inputs.some(({ input }) => 'region' in input.source) || outputs.some(({ range }) => range !== undefined)
  return { request, inputs, outputs, arriving, arrivingBytes, copiedBytes, usesRegions }
}

/** @throws {InvalidRequestError} if a request is in a sequence, and its model has none, or the other way round. */
function checkSequence({ name, sequence: limits }: Model, { sequence }: InferRequest): void {
  if ((limits === undefined) === (sequence === undefined)) return
  if (limits === undefined) {
    throw new InvalidRequestError(
      `the parameter sequence_id must be absent, because the model ${name} has no sequences`,
    )
  }
  // The text of Triton.
  throw new InvalidRequestError(
    `inference request to model '${name}' must specify a non-zero or non-empty correlation ID`,
    { hint: 'Set the parameter sequence_id.' },
  )
}

export const inputsTooLarge = (byteLimit: number, byteSize: number): RequestTooLargeError =>
  new RequestTooLargeError(`the inputs of a request must have at most ${byteLimit} bytes, got ${byteSize}`)

/** The bytes of an input in the request. Those of strings in JSON count as their shape, because their JSON is limited. */
const byteSizeOf = (type: TensorType, source: InferInput['source']): number =>
  'byteSize' in source ? source.byteSize : type.byteSize

/** Whether the elements of an input are behind all that describes it. */
export const isBehind = (source: InferInput['source']): source is { readonly byteSize: number } =>
  'byteSize' in source && !('region' in source)

/** The most strings of an input. Each becomes an object, and 64 MiB have space for the lengths of 16,777,216 empty ones. */
const MOST_STRINGS = 2 ** 21

/**
 * The type of an input.
 *
 * @throws {InvalidRequestError} if its shape is too large, or its binary size is not that of its elements.
 * @throws {RequestTooLargeError} if it has too many strings.
 */
function typeOf({ dtype }: TensorSpec, { name, shape, source }: InferInput): TensorType {
  let type: TensorType
  try {
    // A signature sees strings as the bytes of their memory.
    type = tensorType(dtype === 'string' ? 'uint8' : dtype, shape)
  } catch (error) {
    throw new InvalidRequestError(`the shape of ${name} must be that of a tensor, got [${shape.join(', ')}]`, {
      cause: error,
    })
  }
  if (dtype === 'string' && type.elementCount > MOST_STRINGS) {
    throw new RequestTooLargeError(
      `the input ${name} must have at most ${MOST_STRINGS} strings, got ${type.elementCount}`,
    )
  }
  if (dtype === 'string' || 'data' in source || source.byteSize === type.byteSize) return type
  const size = 'region' in source ? 'shared_memory_byte_size' : 'binary_data_size'
  throw new InvalidRequestError(
    `the ${size} of ${name} must be ${type.byteSize} for ${type.elementCount} elements, got ${source.byteSize}`,
  )
}

/** The inputs of a request in the order of the model. @throws {InvalidRequestError} if one is missing, unknown or of another type. */
function orderInputs(model: Model, { inputs }: InferRequest): InferInput[] {
  const names = model.inputs.map(({ name }) => name)
  for (const { name } of inputs) {
    if (names.includes(name)) continue
    throw new InvalidRequestError(`the model ${model.name} has no input ${JSON.stringify(name.slice(0, 60))}`, {
      hint: `Its inputs are ${names.join(', ')}.`,
    })
  }
  return model.inputs.map((spec) => {
    const input = inputs.find(({ name }) => name === spec.name)
    if (input === undefined)
      throw new InvalidRequestError(`the request must have the input ${spec.name} of the model ${model.name}`)
    if (input.datatype === spec.datatype) return input
    const received = JSON.stringify(input.datatype.slice(0, 60))
    throw new InvalidRequestError(`the input ${spec.name} must have the datatype ${spec.datatype}, got ${received}`)
  })
}
