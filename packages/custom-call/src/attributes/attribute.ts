import {
  ArgumentError,
  ArgumentRangeError,
  dtypeInfo,
  findDType,
  Segment,
  Tensor,
  type DType,
  type Element,
  type TypedArray,
} from '@tenon/core'
import { describe, elementCodec, typedArrayClass, type Gated } from '@tenon/core/internal'

/**
 * An attribute with its exact type: what a handler that takes an f32 gets must be an f32. Immutable; its bytes are a copy.
 * Made by `f32`, `s64`, `str`, {@link array} and so on.
 */
export class Attribute {
  readonly kind: 'scalar' | 'array' | 'string'
  /** The element type; undefined for a string. */
  readonly dtype: DType | undefined
  /** Elements; 1 for a scalar, bytes for a string. */
  readonly length: number
  /** @internal little-endian */
  readonly bytes: Uint8Array
  /** @internal the memory that a pointer leads to, which calls with the attribute keep open */
  readonly memory: Gated | undefined

  /** @internal */
  constructor(kind: Attribute['kind'], dtype: DType | undefined, length: number, bytes: Uint8Array, memory?: Gated) {
    this.kind = kind
    this.dtype = dtype
    this.length = length
    this.bytes = bytes
    this.memory = memory
  }

  /**
   * What it says: a number, a bigint for 64-bit integers, a boolean, `[re, im]` for complex numbers; a TypedArray; or the bytes
   * of a string. A copy.
   */
  get value(): AttributeContent {
    if (this.dtype === undefined) return this.bytes.slice()
    if (this.kind === 'array') return new (typedArrayClass(this.dtype))(this.bytes.slice().buffer as ArrayBuffer)
    return elementCodec(this.dtype).read(new DataView(this.bytes.buffer, this.bytes.byteOffset), 0)
  }
}

/** What an attribute can say. */
export type AttributeContent = Element | TypedArray

/** Element types that an array attribute can have. */
const ARRAY_DTYPES: ReadonlySet<DType> = new Set<DType>([
  'int8',
  'int16',
  'int32',
  'int64',
  'uint8',
  'uint16',
  'uint32',
  'uint64',
  'float32',
  'float64',
])

/** A scalar of a type. @throws {ArgumentError | ArgumentRangeError} if the value is not one of the type. */
export function scalar(dtype: DType, value: Element): Attribute {
  const codec = elementCodec(dtype)
  const bytes = new Uint8Array(codec.byteSize)
  const view = new DataView(bytes.buffer)
  codec.write(view, 0, value)
  if (dtype === 'float32' && Number.isFinite(value) && !Number.isFinite(view.getFloat32(0, true))) {
    throw new ArgumentRangeError(`a float32 must be at most 3.4e38 in size, got ${describe(value)}`)
  }
  return new Attribute('scalar', dtype, 1, bytes)
}

/**
 * A pointer as an attribute: an s64 with the address. Calls that are prepared with it keep the memory of a segment or tensor
 * open; for a bare address the caller vouches.
 *
 * @throws {ArgumentError} if it is none of them. @throws {ScopeClosedError} if the memory is dead.
 * @example
 * ptr(x)
 */
export function ptr(target: Segment | Tensor | bigint): Attribute {
  if (typeof target === 'bigint') return scalar('int64', target)
  const segment = target instanceof Tensor ? target.segment : target
  if (!(segment instanceof Segment)) {
    throw new ArgumentError(`a pointer must be a segment, a tensor or an address, got ${describe(target)}`)
  }
  const { bytes } = scalar('int64', segment.address)
  return new Attribute('scalar', 'int64', 1, bytes, segment.block)
}

/**
 * A string attribute: any bytes. Text is encoded as UTF-8.
 *
 * @throws {ArgumentError} if it is neither text nor bytes, or the text has half a surrogate pair.
 * @example
 * str('relu')
 */
export function str(value: string | Uint8Array): Attribute {
  if (value instanceof Uint8Array) return new Attribute('string', undefined, value.byteLength, value.slice())
  if (typeof value === 'string' && isWellFormed(value)) {
    const bytes = Buffer.from(value)
    return new Attribute('string', undefined, bytes.length, bytes)
  }
  throw new ArgumentError(`a string attribute must be well-formed text or a Uint8Array, got ${describe(value)}`)
}

/** Whether text has no half of a surrogate pair, which UTF-8 can't express. */
export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text)
}

/**
 * An array attribute of an element type: signed and unsigned integers of 8 to 64 bits, float32, float64. A TypedArray says
 * its type itself and needs no helper; handlers always see one dimension.
 *
 * @param dtype the element type, by name or alias.
 * @param values numbers or bigints, or a TypedArray of the element type's kind; copied.
 * @throws {ArgumentError | ArgumentRangeError} if the type can't be in an array, or a value is not one of the type.
 * @example
 * array('f32', [1, 2.5])
 * array('s64', [])
 */
export function array(dtype: string, values: readonly (number | bigint)[] | TypedArray): Attribute {
  const { name } = dtypeInfo(dtype)
  if (!ARRAY_DTYPES.has(name)) {
    throw new ArgumentError(
      `an array attribute must have elements of one of ${[...ARRAY_DTYPES].join(', ')}, got ${name}`,
    )
  }
  if (ArrayBuffer.isView(values)) {
    if (!(values instanceof typedArrayClass(name))) {
      throw new ArgumentError(`an array of ${name} must be a ${typedArrayClass(name).name}, got ${describe(values)}`)
    }
    if (values.buffer instanceof ArrayBuffer && values.buffer.detached) {
      throw new ArgumentError('an array attribute must have its elements, their buffer was transferred away')
    }
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength).slice()
    return new Attribute('array', name, values.length, bytes)
  }
  if (!Array.isArray(values)) {
    throw new ArgumentError(`an array attribute must be an array of numbers, got ${describe(values)}`)
  }
  const elements: readonly (number | bigint)[] = values
  const codec = elementCodec(name)
  const bytes = new Uint8Array(elements.length * codec.byteSize)
  const view = new DataView(bytes.buffer)
  elements.forEach((value, i) => codec.write(view, i * codec.byteSize, value))
  return new Attribute('array', name, elements.length, bytes)
}

/** The array attribute that a TypedArray stands for. @throws {ArgumentError} if no array attribute has its elements. */
export function arrayOf(values: ArrayBufferView, path: string): Attribute {
  const name = Object.prototype.toString.call(values).slice('[object '.length, -1)
  const dtype = findDType(DTYPE_OF_ARRAY[name] ?? '')?.name
  if (dtype !== undefined) return array(dtype, values as TypedArray)
  throw new ArgumentError(`attribute ${path} must be an array of integers, float32 or float64, got ${describe(values)}`)
}

const DTYPE_OF_ARRAY: Readonly<Record<string, DType>> = {
  Int8Array: 'int8',
  Int16Array: 'int16',
  Int32Array: 'int32',
  BigInt64Array: 'int64',
  Uint8Array: 'uint8',
  Uint16Array: 'uint16',
  Uint32Array: 'uint32',
  BigUint64Array: 'uint64',
  Float32Array: 'float32',
  Float64Array: 'float64',
}
