import { InvalidRequestError } from '../errors.ts'
import { describeValue, wrong } from './wrong-field.ts'

const DEEPEST = 100

/** Whether a value of JSON is a size, which is a whole number from 0. */
export const isSize = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** The number of elements of a shape. */
export const elementCountOf = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1)

/** An element type, as far as JSON is concerned. */
export interface JsonElementType {
  readonly kind: string
  readonly bits: number
  /** The name in the protocol: `FP32`. */
  readonly openInference?: string
}

/**
 * The elements in row-major order, from a flat array or nested ones.
 *
 * @throws {InvalidRequestError} if the number of elements or the lengths do not fit the shape.
 */
export function flatElements(
  name: string,
  data: unknown,
  { shape, elementCount }: { readonly shape: readonly number[]; readonly elementCount: number },
): readonly unknown[] {
  if (!Array.isArray(data)) throw wrong(`the data of ${name}`, 'an array', data)
  const values = data.some(Array.isArray) ? flatten(name, data, shape) : (data as readonly unknown[])
  checkElementCount(name, values.length, { shape, elementCount })
  return values
}

/** @throws {InvalidRequestError} if the number of elements does not fit the shape. */
export function checkElementCount(
  name: string,
  count: number,
  { shape, elementCount }: { readonly shape: readonly number[]; readonly elementCount: number },
): void {
  if (count === elementCount) return
  throw wrong(`the data of ${name}`, `${elementCount} elements for the shape [${shape.join(', ')}]`, count)
}

function flatten(name: string, data: readonly unknown[], shape: readonly number[]): unknown[] {
  const values: unknown[] = []
  const visit = (part: unknown, axis: number): void => {
    if (axis === shape.length) {
      values.push(part)
      return
    }
    if (axis > DEEPEST || !Array.isArray(part) || part.length !== shape[axis]) {
      const received = Array.isArray(part) ? `${part.length}` : describeValue(part)
      throw new InvalidRequestError(
        `the nested data of ${name} must have the lengths of its shape [${shape.join(', ')}], got ${received} at axis ${axis}`,
      )
    }
    for (const inner of part as readonly unknown[]) visit(inner, axis + 1)
  }
  visit(data, 0)
  return values
}

/** Returns the element for a value, or undefined for a value that the type does not have. */
export type ReadElement = (value: unknown) => number | bigint | undefined

/** Returns the reader of elements of a type. @throws {InvalidRequestError} for a type without a form in JSON. */
export function elementReader({ kind, bits, openInference }: JsonElementType): ReadElement {
  if (kind === 'bool') return readBool
  if (kind === 'float') {
    if (bits === 16) {
      throw new InvalidRequestError(`the elements of ${openInference} must be sent as bytes`, {
        hint: 'Use the parameter binary_data_size, or raw_input_contents of gRPC.',
      })
    }
    return bits === 32 ? readFloat32 : readFinite
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

/** A number beyond the range of the type would become infinity. */
const readFloat32: ReadElement = (value) => {
  const finite = readFinite(value)
  return finite !== undefined && Number.isFinite(Math.fround(finite as number)) ? finite : undefined
}

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

/** The values of a type, as a noun phrase for errors. */
export function describeElements({ kind, bits, openInference }: JsonElementType): string {
  if (kind === 'bool') return 'true, false, 0 or 1'
  if (kind === 'float') return bits === 32 ? 'a finite number in the range of FP32' : 'a finite number'
  return `a whole number of ${openInference}, which has ${bits} bits`
}
