import { dtypeInfo, type Tensor } from '@tenon/core'
import { InvalidRequestError } from '../errors.ts'

/** Makes a number that `JSON.stringify()` writes as it is. TypeScript's library does not know it. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): object }

/**
 * The elements of an output for JSON, flat and in row-major order. Integers of 64 bits are exact.
 *
 * @throws {InvalidRequestError} for elements that JSON does not have: NaN, infinities, and floats of 16 bits.
 */
export function elementsForJson(name: string, tensor: Tensor): readonly unknown[] {
  const { kind, bits, openInference } = dtypeInfo(tensor.dtype)
  const elements = tensor.contiguous()
  if (kind === 'bool') return elements.toArray()
  if (bits === 64 && kind !== 'float') {
    return (elements.toArray() as readonly bigint[]).map((value) =>
      Number.isSafeInteger(Number(value)) ? Number(value) : rawJSON(String(value)),
    )
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

/** The bytes of an output in row-major order. They are the memory of the tensor, unless its elements lie apart. */
export function bytesForBody(tensor: Tensor): Uint8Array {
  const { block, base, type } = tensor.contiguous()
  return block.bytes.subarray(base, base + type.byteSize)
}
