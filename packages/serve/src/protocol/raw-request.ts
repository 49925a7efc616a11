import { dtypeInfo } from '@tenon/core'
import { InvalidRequestError } from '../errors.ts'
import type { Model } from '../model/model.ts'
import type { TensorSpec } from '../model/tensor-spec.ts'
import type { InferRequest } from './infer-request.ts'

/**
 * The request of a body without JSON, which is the only input of a model. Its shape follows from the number of bytes. All outputs are
 * binary.
 *
 * @throws {InvalidRequestError} if the model has several inputs, or the number of bytes does not determine the shape.
 */
export function rawRequest({ name: model, inputs, batching }: Model, body: Uint8Array): InferRequest {
  const [input] = inputs
  if (input === undefined || inputs.length > 1) {
    throw new InvalidRequestError(
      `the model ${model} must have one input for a request without JSON, got ${inputs.length}`,
    )
  }
  const { name, datatype, dtype } = input
  const source = dtype === 'string' ? { data: [body] } : { byteSize: body.length }
  const shape = shapeOf(input, batching.maxBatchSize > 0, body.length)
  const one = { name, datatype, shape, source }
  return {
    id: undefined,
    parameters: {},
    sequence: undefined,
    priority: 0,
    timeout: 0,
    inputs: [one],
    outputs: undefined,
    isBinary: true,
    wantsEmptyFinal: false,
  }
}

/** The shape of a batch of one row, whose only variable axis follows from the number of bytes. */
function shapeOf({ name, dtype, shape }: TensorSpec, isBatched: boolean, byteSize: number): readonly number[] {
  const sizes = isBatched ? [1, ...shape.slice(1)] : shape
  const variables = sizes.filter((size) => size === -1).length
  if (dtype === 'string') return sizes.map((size) => (size === -1 ? 1 : size))
  if (variables > 1) {
    throw new InvalidRequestError(`the input ${name} must have at most one variable axis for a request without JSON`)
  }
  const known = sizes.reduce((product, size) => (size === -1 ? product : product * size), dtypeInfo(dtype).bits / 8)
  return sizes.map((size) => (size === -1 && known > 0 ? Math.floor(byteSize / known) : Math.max(0, size)))
}
