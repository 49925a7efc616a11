import { ArgumentError, dtypeInfo, Segment, Tensor, type DType, type Element, type TypedArray } from '@tenon/core'
import {
  describe,
  elementCodec,
  inspectAsText,
  isDetached,
  typedArrayClass,
  wrongType,
  wrongValue,
  type Gated,
  type TypedDictionary,
} from '@tenon/core/internal'

const SHORT_NAMES = ['pred', 's8', 's16', 's32', 's64', 'u8', 'u16', 'u32', 'u64', 'f32', 'f64', 'c64', 'c128']

export const SCALARS: Readonly<Record<string, DType>> = Object.fromEntries(
  SHORT_NAMES.map((name) => [name, dtypeInfo(name).name]),
)

const ARRAY_DTYPES: ReadonlyMap<string, DType> = new Map(
  SHORT_NAMES.filter((name) => /^[suf]/.test(name)).map((name) => [
    typedArrayClass(SCALARS[name]!).name,
    SCALARS[name]!,
  ]),
)

const SHOWN = 8

/** The value of an attribute. */
export type AttributeContent = Element | TypedArray

/**
 * An attribute with its exact type, because a handler that expects an f32 accepts only an f32. Attributes are immutable and
 * own a copy of their bytes. Created by `f32`, `s64`, `str`, {@link array} and similar functions.
 */
export class Attribute {
  readonly kind: 'scalar' | 'array' | 'string'
  /** The element type, or undefined for a string. */
  readonly dtype: DType | undefined
  /** The number of elements of an array, 1 for a scalar, or the number of bytes of a string. */
  readonly length: number
  /** @internal little-endian */
  readonly bytes: Uint8Array
  /** @internal the memory that a pointer refers to, which calls with the attribute keep open */
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
   * A copy of the value. A scalar is a number, a bigint for 64-bit integers, a boolean, or `[re, im]` for complex numbers.
   * An array is a typed array, and a string is its bytes.
   */
  get value(): AttributeContent {
    if (this.dtype === undefined) return copyOf(this.bytes)
    if (this.kind === 'array') return new (typedArrayClass(this.dtype))(copyOf(this.bytes).buffer)
    return elementCodec(this.dtype).read(new DataView(this.bytes.buffer, this.bytes.byteOffset), 0)
  }

  /** @internal The name of the type in signatures: `f32`, `f32[]`, or `bytes` for any string. */
  get typeName(): string {
    if (this.kind === 'string') return 'bytes'
    return `${this.#shortName()}${this.kind === 'array' ? '[]' : ''}`
  }

  #shortName(): string {
    return Object.keys(SCALARS).find((name) => SCALARS[name] === this.dtype) ?? String(this.dtype)
  }

  /** Returns the code that creates the attribute, with only the first elements of a long array. */
  toString(): string {
    if (this.kind === 'string') return `str(${describe(Buffer.from(this.bytes).toString())})`
    const value = this.value as Element | ArrayLike<Element>
    if (this.kind === 'scalar') return `${this.#shortName()}(${String(value)})`
    const shown = Array.from(value as ArrayLike<Element>).slice(0, SHOWN)
    const rest = this.length > SHOWN ? `, ... ${this.length - SHOWN} more` : ''
    return `array('${this.#shortName()}', [${shown.join(', ')}${rest}])`
  }
}
inspectAsText(Attribute)

/** Attributes as native code passes them, each with its type. */
export type ReadAttributes = TypedDictionary<Attribute>

/** Where a scalar is written. Its copy is in the heap of JavaScript, so it costs a tenth of an array with a buffer of its own. */
const scratch = new Uint8Array(16)
const scratchView = new DataView(scratch.buffer)

/** Makes a scalar of a type. @throws {ArgumentError | ArgumentRangeError} if the value does not have the type. */
export function scalar(dtype: DType, value: Element): Attribute {
  // Elements of tensors can be 0 and 1, too, but a number as an attribute is probably meant for another type.
  if (dtype === 'bool' && typeof value !== 'boolean') throw wrongType('a pred', 'true or false', value)
  const codec = elementCodec(dtype)
  // Read before one is written, because a getter can make another scalar.
  const parts = Array.isArray(value) && value.length === 2 ? [value[0], value[1]] : value
  codec.write(scratchView, 0, parts as Element)
  if (dtype === 'float32' && Number.isFinite(value) && !Number.isFinite(scratchView.getFloat32(0, true))) {
    throw wrongValue('a float32', 'at most 3.4e38 in magnitude', value)
  }
  return new Attribute('scalar', dtype, 1, scratch.slice(0, codec.byteSize))
}

/**
 * Returns an s64 attribute with the address of the memory. Calls that are prepared with the attribute hold the memory of a
 * segment or tensor open. If you pass a plain address, you are responsible for its memory.
 *
 * @throws {ArgumentError} for any other value. @throws {ScopeClosedError} if the memory is closed.
 * @example
 * ptr(x)
 */
export function ptr(target: Segment | Tensor | bigint): Attribute {
  if (typeof target === 'bigint') return scalar('int64', target)
  const segment = target instanceof Tensor ? target.segment : target
  if (!(segment instanceof Segment)) throw wrongType('a pointer', 'a segment, a tensor or an address', target)
  const { bytes } = scalar('int64', segment.address)
  return new Attribute('scalar', 'int64', 1, bytes, segment.block)
}

/**
 * Returns a string attribute, which can contain arbitrary bytes. A JavaScript string is encoded as UTF-8.
 *
 * @throws {ArgumentError} if the value is neither a string nor bytes, or the string has a lone surrogate.
 * @example
 * str('relu')
 */
export function str(value: string | Uint8Array): Attribute {
  if (value instanceof Uint8Array) return new Attribute('string', undefined, value.byteLength, copyOf(value))
  if (typeof value === 'string' && isWellFormed(value)) {
    const bytes = Buffer.from(value)
    return new Attribute('string', undefined, bytes.length, bytes)
  }
  throw wrongType('a string attribute', 'well-formed text or a Uint8Array', value)
}

/** Copies bytes, because `slice()` of a Buffer returns a view of the same memory. */
function copyOf(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes)
}

/** Whether a text has no lone surrogate, which UTF-8 cannot encode. */
export function isWellFormed(text: string): boolean {
  return text.isWellFormed()
}

/**
 * Returns an array attribute. The elements are 8- to 64-bit integers, signed or unsigned, float32 or float64. Instead of an
 * array attribute you can also pass a typed array. Handlers always receive one dimension.
 *
 * @param dtype the name or alias of the element type.
 * @param values numbers or bigints, or a typed array with this element type. The values are copied.
 * @throws {ArgumentError | ArgumentRangeError} if an array cannot have this element type, or a value does not fit it.
 * @example
 * array('f32', [1, 2.5])
 * array('s64', [])
 */
export function array(dtype: string, values: readonly (number | bigint)[] | TypedArray): Attribute {
  const { name } = dtypeInfo(dtype)
  const names = [...ARRAY_DTYPES.values()]
  if (!names.includes(name)) {
    throw new ArgumentError(`an array attribute must have elements of one of ${names.join(', ')}, got ${name}`, {
      details: { expected: names, received: name },
    })
  }
  if (ArrayBuffer.isView(values)) {
    if (!(values instanceof typedArrayClass(name))) {
      throw wrongType(`an array of ${name}`, `a ${typedArrayClass(name).name}`, values)
    }
    if (isDetached(values.buffer)) {
      throw new ArgumentError('an array attribute must have its elements, got an array whose buffer was transferred')
    }
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength).slice()
    return new Attribute('array', name, values.length, bytes)
  }
  if (!Array.isArray(values)) throw wrongType('an array attribute', 'an array of numbers', values)
  const elements: readonly (number | bigint)[] = values
  const codec = elementCodec(name)
  const bytes = new Uint8Array(elements.length * codec.byteSize)
  const view = new DataView(bytes.buffer)
  elements.forEach((value, i) => codec.write(view, i * codec.byteSize, value))
  return new Attribute('array', name, elements.length, bytes)
}

/** Makes the array attribute of a TypedArray. @throws {ArgumentError} if array attributes cannot have its elements. */
export function arrayOf(values: ArrayBufferView, path: string): Attribute {
  const dtype = ARRAY_DTYPES.get(Object.prototype.toString.call(values).slice('[object '.length, -1))
  if (dtype !== undefined) return array(dtype, values as TypedArray)
  throw wrongType(`attribute ${path}`, 'an array of integers, float32 or float64', values)
}
