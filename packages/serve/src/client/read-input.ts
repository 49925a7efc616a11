import type { TypedArray } from '@tenon/core'
import { ArgumentError } from '@tenon/core/errors'
import { describeElements, elementCountOf, elementReader, flatElements, isSize } from '../protocol/json-elements.ts'
import { writeStrings } from '../protocol/string-bytes.ts'
import { describeValue } from '../protocol/wrong-field.ts'
import { datatypes, type Datatype } from './datatypes.ts'
import { foreignInput } from './foreign-input.ts'

/** An input or an output as the metadata of a model describes it. */
export interface TensorMetadata {
  readonly name: string
  readonly datatype: string
  /** With -1 for sizes that differ between requests. */
  readonly shape: readonly number[]
}

/** An input that can be sent. */
export interface ReadInput {
  readonly name: string
  readonly datatype: string
  readonly shape: readonly number[]
  /** The elements in the binary form of the protocol. They can be the memory of the caller. */
  readonly bytes: Uint8Array<ArrayBufferLike>
  /** Where the elements are in shared memory, instead of in the body. */
  readonly region?: { readonly name: string; readonly offset: number }
}

/** The members of a tensor of Tenon, or of a tensor of strings, that are read here. */
interface TensorLike {
  readonly dtype: string
  readonly shape: readonly number[]
  contiguous(): { view(): TypedArray }
}
interface StringTensorLike {
  readonly shape: readonly number[]
  readonly length: number
  bytes(index: number): Uint8Array
}

/** Reads one input for a model. @throws {ArgumentError} if it does not have the element type of the model, or no regular shape. */
export function readInput({ name, datatype }: TensorMetadata, value: unknown): ReadInput {
  const path = `the input ${name}`
  if (typeof value !== 'object' || value === null) {
    throw new ArgumentError(`${path} must be a tensor or an array, got ${value === null ? 'null' : typeof value}`, {
      hint: 'Pass a tensor, nested arrays, or { shape, data }.',
    })
  }
  if (datatype === 'BYTES') return { name, datatype, ...readStrings(path, value) }
  const type = datatypes.get(datatype)
  if (type === undefined) {
    throw new ArgumentError(`${path} has the datatype ${datatype.slice(0, 60)}, which this client does not know`)
  }
  if (isTensor(value)) {
    const { dtype, shape } = value
    if (dtype !== type.dtype) throw wrongElements(path, type, `a tensor of ${dtype}`)
    return { name, datatype, shape: [...shape], bytes: bytesOf(value.contiguous().view()) }
  }
  const { shape, data, dtype } = splitData(path, value)
  // Other libraries have names of their own for types, so only those that this client knows are compared.
  const named = [...datatypes.values()].some((one) => one.dtype === dtype)
  if (named && dtype !== type.dtype) throw wrongElements(path, type, `a tensor of ${String(dtype)}`)
  return { name, datatype, shape, bytes: readElements(path, type, shape, data) }
}

const isTensor = (value: object): value is TensorLike => 'contiguous' in value && typeof value.contiguous === 'function'

const isStringTensor = (value: object): value is StringTensorLike =>
  'bytes' in value && typeof value.bytes === 'function' && 'length' in value

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)

function wrongElements(path: string, type: Datatype, received: string): ArgumentError {
  return new ArgumentError(`${path} must have elements of ${type.dtype}, got ${received}`)
}

/** The shape and the elements of arrays, or of an object that has both. @throws {ArgumentError} */
function splitData(
  path: string,
  value: object,
): {
  readonly shape: readonly number[]
  readonly data: ArrayBufferView | readonly unknown[]
  readonly dtype?: unknown
} {
  if (ArrayBuffer.isView(value)) return { shape: [(value as TypedArray).length], data: value }
  if (Array.isArray(value)) return { shape: shapeOf(value), data: value }
  const { shape, data, dtype } = asArgument(path, () => foreignInput(path, value))
  const isShape = Array.isArray(shape) && shape.every(isSize)
  if (isShape && (ArrayBuffer.isView(data) || Array.isArray(data))) return { shape: [...shape], data, dtype }
  throw new ArgumentError(`${path} must be a tensor or an array, got an object without shape and data`, {
    hint: 'Pass a tensor, nested arrays, or { shape, data }.',
  })
}

/** The lengths of nested arrays, along their first elements. */
function shapeOf(nested: readonly unknown[]): number[] {
  const shape: number[] = []
  for (let at: unknown = nested; Array.isArray(at); at = at[0]) shape.push(at.length)
  return shape
}

function readElements(
  path: string,
  type: Datatype,
  shape: readonly number[],
  data: ArrayBufferView | readonly unknown[],
): Uint8Array {
  const elementCount = elementCountOf(shape)
  if (ArrayBuffer.isView(data)) {
    if (!hasElements(data, type)) throw wrongElements(path, type, data.constructor.name)
    const { length } = data as TypedArray
    if (length === elementCount) return bytesOf(data)
    throw new ArgumentError(
      `${path} must have ${elementCount} elements for its shape [${shape.join(', ')}], got ${length}`,
    )
  }
  if (type.kind === 'float' && type.bits === 16) {
    throw new ArgumentError(`${path} must be a tensor or a Uint16Array, because its elements are of ${type.dtype}`, {
      hint: 'Pass the bits of the elements in a Uint16Array.',
    })
  }
  const read = elementReader(type)
  const values = asArgument(path, () => flatElements(path, data, { shape, elementCount }))
  const elements = new type.array(values.length)
  for (const [i, value] of values.entries()) {
    // Only the numbers of JSON must be finite. Those of the caller have the elements themselves.
    const element = type.kind === 'float' && isNonFinite(value) ? value : read(value)
    if (element === undefined) {
      throw new ArgumentError(`element ${i} of ${path} must be ${describeElements(type)}, got ${describeValue(value)}`)
    }
    elements[i] = element as never
  }
  return bytesOf(elements)
}

const isNonFinite = (value: unknown): value is number => typeof value === 'number' && !Number.isFinite(value)

/** Whether an array is over the elements of a type. Floats of 16 bits can also be those of JavaScript. */
function hasElements(data: ArrayBufferView, type: Datatype): boolean {
  if (data instanceof type.array) return true
  return type.dtype === 'float16' && data.constructor.name === 'Float16Array'
}

function readStrings(path: string, value: object): Pick<ReadInput, 'shape' | 'bytes'> {
  if (isStringTensor(value)) {
    const elements = Array.from({ length: value.length }, (_, i) => value.bytes(i))
    return { shape: [...value.shape], bytes: writeStrings(elements) }
  }
  const { shape, data } = splitData(path, value)
  const elementCount = elementCountOf(shape)
  const elements = asArgument(path, () => flatElements(path, data, { shape, elementCount })).map((one, i) => {
    if (one instanceof Uint8Array) return one
    if (typeof one === 'string' && one.isWellFormed()) return new TextEncoder().encode(one)
    throw new ArgumentError(`element ${i} of ${path} must be a text without lone surrogates, or its bytes`)
  })
  return { shape, bytes: writeStrings(elements) }
}

/** Runs a check that client and server share. @throws {ArgumentError} instead of the error of the server. */
function asArgument<Result>(path: string, check: () => Result): Result {
  try {
    return check()
  } catch (error) {
    const { message } = error as Error
    const { sentence = message, hint } = error as { readonly sentence?: string; readonly hint?: string }
    throw new ArgumentError(sentence, { hint, cause: error, details: { path } })
  }
}
