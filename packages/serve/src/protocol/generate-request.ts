import { InvalidRequestError } from '../errors.ts'
import type { Model } from '../model/model.ts'
import type { TensorSpec } from '../model/tensor-spec.ts'
import type { InferRequest } from './infer-request.ts'
import { isObject } from './is-object.ts'
import { readInferRequest } from './read-infer-request.ts'
import { wrong } from './wrong-field.ts'

/**
 * Reads a request of Triton's generate extension (`docs/protocol/extension_generate.md`): a JSON object with the elements of inputs and with
 * parameters by name, some of which can be in the object `parameters`.
 *
 * @throws {InvalidRequestError} with the field that is wrong.
 */
export function readGenerateRequest({ inputs: specs }: Model, json: unknown): InferRequest {
  if (!isObject(json)) throw wrong('the request', 'an object', json)
  const { id, parameters: given = {}, ...others } = json
  if (!isObject(given)) throw wrong('parameters', 'an object', given)
  const parameters: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  const inputs: object[] = []
  for (const [name, value] of [...Object.entries(others), ...Object.entries(given)]) {
    const spec = specs.find((one) => one.name === name)
    if (spec === undefined) parameters[name] = value
    else inputs.push({ name, datatype: spec.datatype, ...elementsOf(spec, value) })
  }
  return readInferRequest({ ...(id === undefined ? {} : { id }), parameters: { ...parameters }, inputs })
}

/**
 * The elements of an input with its shape. The fixed axes have their sizes, the last one of the others has what is left, and the rest of them has 1.
 *
 * @throws {InvalidRequestError} if no such shape has this number of elements.
 */
function elementsOf({ name, shape }: TensorSpec, value: unknown): { readonly data: unknown; readonly shape: number[] } {
  const data: readonly unknown[] = Array.isArray(value) ? value : [value]
  const fixed = shape.reduce((product, size) => (size === -1 ? product : product * size), 1)
  const rest = fixed === 0 ? 0 : data.length / fixed
  const last = shape.lastIndexOf(-1)
  const isWhole = last === -1 ? fixed === data.length : Number.isInteger(rest)
  if (!isWhole) {
    throw new InvalidRequestError(
      `the input ${name} must have elements for the shape [${shape.join(', ')}], got ${data.length}`,
    )
  }
  return { data, shape: shape.map((size, i) => (size === -1 ? (i === last ? rest : 1) : size)) }
}
