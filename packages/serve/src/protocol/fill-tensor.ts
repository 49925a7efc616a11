import { dtypeInfo, type Tensor, type TensorType } from '@tenon/core'
import { InvalidRequestError } from '../errors.ts'
import { checkElementCount, describeElements, elementReader, flatElements } from './json-elements.ts'
import { wrong } from './wrong-field.ts'

/**
 * Writes the elements of an input to a tensor.
 *
 * @param data a flat array of all elements, or nested arrays whose lengths are the shape. A typed array has the elements themselves, which JSON
 * does not have if they are NaN or infinite.
 * @throws {InvalidRequestError} if the number of elements, the lengths or the values do not fit the tensor.
 */
export function fillTensor(name: string, data: unknown, tensor: Tensor): void {
  if (data instanceof Float32Array || data instanceof Float64Array) {
    checkElementCount(name, data.length, tensor.type)
    ;(tensor.view() as Float32Array | Float64Array).set(data)
    return
  }
  const info = dtypeInfo(tensor.dtype)
  const elements = tensor.view() as { [index: number]: number | bigint }
  const read = elementReader(info)
  const values = flatElements(name, data, tensor.type)
  for (let i = 0; i < values.length; i++) {
    const element = read(values[i])
    if (element === undefined) throw wrong(`element ${i} of ${name}`, describeElements(info), values[i])
    elements[i] = element
  }
}

/**
 * The strings of an input. gRPC sends bytes.
 *
 * @throws {InvalidRequestError} if the number of elements or the lengths do not fit the shape, or one is not text.
 */
export function readTexts(name: string, data: unknown, type: TensorType): readonly (string | Uint8Array)[] {
  const values = flatElements(name, data, type)
  for (const [i, value] of values.entries()) {
    if (value instanceof Uint8Array) continue
    if (typeof value !== 'string') throw wrong(`element ${i} of ${name}`, 'a text', value)
    if (!value.isWellFormed())
      throw new InvalidRequestError(`element ${i} of ${name} must be text without lone surrogates`)
  }
  return values as readonly (string | Uint8Array)[]
}
