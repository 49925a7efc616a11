import { dtypeInfo } from '@tenon/core'
import { StringTensor } from 'tenon/tstring'
import { InvalidRequestError } from '../errors.ts'
import type { ModelTensor } from '../model/model-tensor.ts'
import { integerForJson } from './raw-json.ts'

/**
 * The elements of an output for JSON, flat and in row-major order. Integers of 64 bits are exact.
 *
 * @throws {InvalidRequestError} for elements that JSON does not have: NaN, infinities, floats of 16 bits, and strings that are not UTF-8.
 */
export function elementsForJson(name: string, tensor: ModelTensor): readonly unknown[] {
  if (tensor instanceof StringTensor) {
    if (tensor.indexOfInvalid() !== -1) throw binaryOnly(name, 'a string that is not UTF-8')
    return tensor.toArray()
  }
  const { kind, bits, openInference } = dtypeInfo(tensor.dtype)
  const elements = tensor.contiguous()
  if (kind === 'bool') return elements.toArray()
  if (bits === 64 && kind !== 'float') {
    return (elements.toArray() as readonly bigint[]).map(integerForJson)
  }
  if (kind === 'float' && bits === 16) throw binaryOnly(name, `elements of ${openInference}`)
  const values = elements.toArray() as readonly number[]
  if (kind === 'float') {
    const other = values.find((value) => !Number.isFinite(value))
    if (other !== undefined) throw binaryOnly(name, `the value ${other}`)
  }
  return values
}

function binaryOnly(name: string, what: string): InvalidRequestError {
  return new InvalidRequestError(`the output ${name} has ${what}, which has no form in JSON`, {
    hint: 'Ask for the output with the parameter binary_data.',
  })
}
