import { wrongType, wrongValue } from '../errors/check-arguments.ts'
import { ArgumentError } from '../errors/kinds.ts'
import type { Found } from './found.ts'
import { tensorSymbol, type StringDescription, type TensorDescription } from './protocol.ts'

const kind = 'an offered tensor'

/** Whether an object offers its memory by the tensor protocol. */
export const isOffered = (value: object): boolean => tensorSymbol in value

/** Reads what an object offers, each property once. @throws {ArgumentError} if it offers no version of the protocol that is known. */
export function readOffered(value: object): Found {
  const offered = value as { readonly [tensorSymbol]?: unknown }
  const method = offered[tensorSymbol]
  if (typeof method !== 'function') throw wrongType('the member Symbol.for("dlpack.tensor")', 'a method', method)
  const description: unknown = Reflect.apply(method, value, [])
  if (typeof description !== 'object' || description === null)
    throw wrongType('the offered tensor', 'a description', description)
  const { version, dtype } = description as Partial<TensorDescription>
  if (version !== 1) {
    throw wrongValue(
      'the version of the offered tensor',
      '1',
      version,
      'Update @tenon/core, or the library of the tensor.',
    )
  }
  return (dtype as unknown) === 'string'
    ? readStrings(description as StringDescription)
    : readNumbers(dtype, description as TensorDescription)
}

function readStrings({ shape, offsets, data, validity, validityOffset, owner }: StringDescription): Found {
  return { kind, dtype: 'string', shape, texts: undefined, offsets, data, validity, validityOffset, owner }
}

function readNumbers(dtype: unknown, description: TensorDescription): Found {
  const { shape, strides, byteOffset = 0, buffer, address } = description
  const { byteSize, packing, device, readOnly, validity, validityOffset, owner, hold } = description
  if ((buffer === undefined) === (address === undefined)) {
    throw new ArgumentError(`${kind} must have either a buffer or an address`)
  }
  const memory = buffer ?? { address, byteSize }
  const isBare = (packing ?? device ?? readOnly ?? validity ?? owner ?? hold) === undefined
  const more = isBare ? undefined : { packing, device, readOnly, validity, validityOffset, owner, hold }
  return { kind, dtype, shape, strides, memory, offset: byteOffset, isWhole: false, more }
}
