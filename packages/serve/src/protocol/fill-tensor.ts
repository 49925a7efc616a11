import { dtypeInfo, type DTypeInfo, type Tensor } from '@tenon/core'
import { InvalidRequestError } from '../errors.ts'
import { wrong } from './read-infer-request.ts'

const DEEPEST = 100

/**
 * Writes the elements of an input to a tensor.
 *
 * @param data a flat array of all elements, or nested arrays whose lengths are the shape.
 * @throws {InvalidRequestError} if the number of elements, the lengths or the values do not fit the tensor.
 */
export function fillTensor(name: string, data: unknown, tensor: Tensor): void {
  const { shape, type } = tensor
  const info = dtypeInfo(type.dtype)
  const elements = tensor.view() as { [index: number]: number | bigint }
  const read = elementReader(info)
  if (!Array.isArray(data)) throw wrong(`the data of ${name}`, 'an array', data)
  const values = data.some(Array.isArray) ? flatten(name, data, shape) : (data as readonly unknown[])
  if (values.length !== type.elementCount) {
    throw wrong(
      `the data of ${name}`,
      `${type.elementCount} elements for the shape [${shape.join(', ')}]`,
      `${values.length}`,
    )
  }
  for (let i = 0; i < values.length; i++) {
    const element = read(values[i])
    if (element === undefined) throw wrong(`element ${i} of ${name}`, describeElements(info), values[i])
    elements[i] = element
  }
}

function flatten(name: string, data: readonly unknown[], shape: readonly number[]): unknown[] {
  const values: unknown[] = []
  const visit = (part: unknown, axis: number): void => {
    if (axis === shape.length) {
      values.push(part)
      return
    }
    if (axis > DEEPEST || !Array.isArray(part) || part.length !== shape[axis]) {
      const received = Array.isArray(part) ? `${part.length}` : String(part).slice(0, 60)
      throw new InvalidRequestError(
        `the nested data of ${name} must have the lengths of its shape [${shape.join(', ')}], got ${received} at axis ${axis}`,
      )
    }
    for (const inner of part as readonly unknown[]) visit(inner, axis + 1)
  }
  visit(data, 0)
  return values
}

type ReadElement = (value: unknown) => number | bigint | undefined

/** Returns the reader of one element, which returns undefined for a value that the type does not have. */
function elementReader({ kind, bits, openInference }: DTypeInfo): ReadElement {
  if (kind === 'bool') return readBool
  if (kind === 'float') {
    if (bits === 16) {
      throw new InvalidRequestError(`the elements of ${openInference} must be sent as bytes`, {
        hint: 'Use the parameter binary_data_size, or raw_input_contents of gRPC.',
      })
    }
    return readFinite
  }
  if (bits === 64) return kind === 'int' ? readInt64 : readUint64
  const lowest = kind === 'int' ? -(2 ** (bits - 1)) : 0
  const highest = kind === 'int' ? 2 ** (bits - 1) - 1 : 2 ** bits - 1
  return (value) =>
    Number.isInteger(value) && (value as number) >= lowest && (value as number) <= highest
      ? (value as number)
      : undefined
}

const readBool: ReadElement = (value) =>
  value === true || value === 1 ? 1 : value === false || value === 0 ? 0 : undefined

/** A number beyond the range of doubles was read as infinity. */
const readFinite: ReadElement = (value) =>
  typeof value === 'number' && Number.isFinite(value) ? value : typeof value === 'bigint' ? Number(value) : undefined

const toBigInt = (value: unknown): bigint | undefined =>
  typeof value === 'bigint' ? value : Number.isSafeInteger(value) ? BigInt(value as number) : undefined

const readInt64: ReadElement = (value) => {
  const integer = toBigInt(value)
  return integer !== undefined && BigInt.asIntN(64, integer) === integer ? integer : undefined
}

const readUint64: ReadElement = (value) => {
  const integer = toBigInt(value)
  return integer !== undefined && BigInt.asUintN(64, integer) === integer ? integer : undefined
}

function describeElements({ kind, bits, openInference }: DTypeInfo): string {
  if (kind === 'bool') return 'true, false, 0 or 1'
  if (kind === 'float') return 'a finite number'
  return `a whole number of ${openInference}, which has ${bits} bits`
}
